//! The normal form of an item: two items that the provider cannot tell apart have the same one.
//!
//! No insignificant white space, escapes in shortest form, numbers by decimal value (never through a float), one
//! text block as a string, cache markers dropped, no word on that an item is a message, members of the envelope
//! (message, block, tool, call) in one order. Keys inside schemas, arguments and tool inputs stay as sent, because providers render them so.
//! Where there is no normal form (a lone surrogate, a number beyond any float, a key twice in an envelope, over
//! 128 levels) the caller takes the bytes as they are.

use std::ops::Range;

use super::scan::Cursor;

/// Nesting up to which a value has a normal form.
pub const MAX_DEPTH: usize = 128;

/// The types of blocks that are nothing but text, quotes included.
pub const TEXT_TYPES: [&[u8]; 3] = [b"\"text\"", b"\"input_text\"", b"\"output_text\""];

/// There is no normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abnormal;

/// Members that mark a place in the prefix for the provider's cache and are not rendered.
pub const MARKERS: [&[u8]; 2] = [b"cache_control", b"prompt_cache_breakpoint"];

/// The name of a block that marks such a place by standing behind what it marks.
pub const MARKER_BLOCK: &[u8] = b"cachePoint";

/// What an item of a list of items is where it does not say so: a message, whether its `type` is written or not.
pub fn is_implied(name: &[u8], value: &[u8]) -> bool {
    name == b"type" && value == b"\"message\""
}

/// An order of members; those that are not listed follow, sorted by name. It is the one that common clients write, so
/// that most items are in normal form as they come.
#[derive(Clone, Copy)]
pub struct Order(&'static [&'static [u8]]);

/// The order in a tool call of a message.
pub const CALL: Order = Order(&[b"id", b"type", b"function"]);

/// The order in any other envelope.
pub const PLAIN: Order = Order(&[
    b"role",
    b"tool_call_id",
    b"tool_use_id",
    b"toolUseId",
    b"type",
    b"id",
    b"name",
    b"text",
    b"thinking",
    b"signature",
    b"content",
    b"reasoning_content",
    b"tool_calls",
    b"function",
]);

/// What a member of an envelope holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// Anything; its keys stay as sent.
    Opaque,
    /// A string, or blocks; one bare text block is the string.
    Content,
    /// An array of envelopes.
    Envelopes,
    /// One envelope.
    Envelope,
}

/// What the member `name` of an envelope holds.
pub fn member(name: &[u8]) -> Member {
    match name {
        b"content" => Member::Content,
        b"tool_calls" => Member::Envelopes,
        b"function" | b"source" | b"image_url" => Member::Envelope,
        b"functionCall" | b"function_call" | b"functionResponse" | b"function_response" => Member::Envelope,
        b"inlineData" | b"inline_data" | b"fileData" | b"file_data" => Member::Envelope,
        b"toolSpec" | b"toolUse" | b"toolResult" | b"reasoningContent" | b"reasoningText" => Member::Envelope,
        _ => Member::Opaque,
    }
}

impl Order {
    /// The place of a member.
    pub fn rank(self, name: &[u8]) -> usize {
        let place = self.0.iter().position(|known| *known == name);
        place.unwrap_or(self.0.len())
    }
}

/// Writes the normal form of any value; keys stay in order.
pub fn write_value(src: &[u8], range: Range<usize>, out: &mut Vec<u8>) -> Result<(), Abnormal> {
    let mut writer = Writer { src, out };
    writer.value(&mut Cursor::new(&src[..range.end], range.start), 0)
}

/// Writes the normal form of an envelope: a message, a block, a tool or a call.
pub fn write_envelope(src: &[u8], range: Range<usize>, out: &mut Vec<u8>) -> Result<(), Abnormal> {
    let mut writer = Writer { src, out };
    writer.envelope(range, 0, PLAIN)
}

/// Writes the normal form of a content: a string where it is one bare text block.
pub fn write_content(src: &[u8], range: Range<usize>, out: &mut Vec<u8>) -> Result<(), Abnormal> {
    let mut writer = Writer { src, out };
    writer.content(range, 0)
}

/// The decoded text of a string token; none where a surrogate is alone.
pub fn decode_string(token: &[u8]) -> Option<String> {
    serde_json::from_slice(token).ok()
}

struct Writer<'s, 'o> {
    src: &'s [u8],
    out: &'o mut Vec<u8>,
}

type Done = Result<(), Abnormal>;

impl Writer<'_, '_> {
    fn value(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Done {
        if depth > MAX_DEPTH {
            return Err(Abnormal);
        }
        match cursor.peek()? {
            b'{' => self.object(cursor, depth),
            b'[' => self.array(cursor, depth),
            b'"' => {
                let token = cursor.string()?;
                self.string(token)
            }
            b'-' | b'0'..=b'9' => {
                let range = cursor.value()?;
                self.number(range)
            }
            _ => {
                let range = cursor.value()?;
                self.out.extend_from_slice(&self.src[range]);
                Ok(())
            }
        }
    }

    fn object(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Done {
        cursor.pass(b'{')?;
        self.out.push(b'{');
        let (mut first, mut comma) = (true, false);
        loop {
            if cursor.peek()? == b'}' {
                cursor.jump(cursor.pos() + 1);
                break;
            }
            if !std::mem::replace(&mut first, false) {
                cursor.pass(b',')?;
                cursor.peek()?;
            }
            if std::mem::replace(&mut comma, true) {
                self.out.push(b',');
            }
            let token = cursor.string()?;
            self.string(token)?;
            cursor.pass(b':')?;
            self.out.push(b':');
            self.value(cursor, depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn array(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Done {
        cursor.pass(b'[')?;
        self.out.push(b'[');
        let (mut first, mut comma) = (true, false);
        while cursor.element(&mut first)? {
            if std::mem::replace(&mut comma, true) {
                self.out.push(b',');
            }
            self.value(cursor, depth + 1)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn envelope(&mut self, range: Range<usize>, depth: usize, order: Order) -> Done {
        let mut cursor = Cursor::new(&self.src[..range.end], range.start);
        if depth > MAX_DEPTH {
            return Err(Abnormal);
        }
        if cursor.peek()? != b'{' {
            return self.value(&mut cursor, depth);
        }
        let mut members = members(&mut cursor, order)?;
        if depth == 0 {
            let at = |range: &Range<usize>| &self.src[range.clone()];
            members.retain(|(name, value)| !is_implied(at(name), at(value)));
        }
        self.out.push(b'{');
        for (index, (name, value)) in members.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.string(name.start - 1..name.end + 1)?;
            self.out.push(b':');
            let name = &self.src[name.clone()];
            match member(name) {
                Member::Content => self.content(value.clone(), depth + 1)?,
                Member::Envelope => self.envelope(value.clone(), depth + 1, PLAIN)?,
                Member::Envelopes => self.envelopes(value.clone(), depth + 1, CALL)?,
                Member::Opaque => {
                    let mut cursor = Cursor::new(&self.src[..value.end], value.start);
                    self.value(&mut cursor, depth + 1)?;
                }
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn envelopes(&mut self, range: Range<usize>, depth: usize, order: Order) -> Done {
        let mut cursor = Cursor::new(&self.src[..range.end], range.start);
        if cursor.peek()? != b'[' {
            return self.value(&mut cursor, depth);
        }
        cursor.pass(b'[')?;
        self.out.push(b'[');
        let (mut first, mut comma) = (true, false);
        while cursor.element(&mut first)? {
            if std::mem::replace(&mut comma, true) {
                self.out.push(b',');
            }
            let element = cursor.value()?;
            self.envelope(element, depth + 1, order)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn content(&mut self, range: Range<usize>, depth: usize) -> Done {
        match sole_text(self.src, &range)? {
            Some(text) => self.string(text),
            None => self.envelopes(range, depth, PLAIN),
        }
    }

    fn string(&mut self, token: Range<usize>) -> Done {
        let bytes = &self.src[token];
        let mut cursor = Cursor::new(bytes, 0);
        if cursor.string().is_ok() && !cursor.loose {
            self.out.extend_from_slice(bytes);
            return Ok(());
        }
        let text: String = serde_json::from_slice(bytes).map_err(|_| Abnormal)?;
        serde_json::to_writer(&mut *self.out, &text).map_err(|_| Abnormal)
    }

    fn number(&mut self, range: Range<usize>) -> Done {
        let text = std::str::from_utf8(&self.src[range]).map_err(|_| Abnormal)?;
        self.out.extend_from_slice(normal_number(text)?.as_bytes());
        Ok(())
    }
}

/// Where a member's name (without quotes) and its value stand.
type NameAndValue = (Range<usize>, Range<usize>);

/// The members of an object, markers left out, in the fixed order.
fn members(cursor: &mut Cursor<'_>, order: Order) -> Result<Vec<NameAndValue>, Abnormal> {
    cursor.pass(b'{')?;
    let (mut first, mut members) = (true, Vec::new());
    while let Some(name) = cursor.key(&mut first)? {
        let value = cursor.value()?;
        if !MARKERS.contains(&cursor.slice(&name)) {
            members.push((name, value));
        }
    }
    members.sort_by_key(|(name, _)| (order.rank(cursor.slice(name)), cursor.slice(name)));
    let twice = members
        .windows(2)
        .any(|pair| cursor.slice(&pair[0].0) == cursor.slice(&pair[1].0));
    if twice { Err(Abnormal) } else { Ok(members) }
}

/// The text token of a content that is one text block with nothing but its text and markers.
fn sole_text(src: &[u8], range: &Range<usize>) -> Result<Option<Range<usize>>, Abnormal> {
    let mut cursor = Cursor::new(&src[..range.end], range.start);
    if cursor.peek()? != b'[' {
        return Ok(None);
    }
    cursor.pass(b'[')?;
    let mut first = true;
    if !cursor.element(&mut first)? || cursor.peek()? != b'{' {
        return Ok(None);
    }
    let block = cursor.value()?;
    if cursor.element(&mut first)? {
        return Ok(None);
    }
    let members = members(&mut Cursor::new(&src[..block.end], block.start), PLAIN)?;
    let [(kind, kind_value), (text, text_value)] = members.as_slice() else {
        return Ok(None);
    };
    let bare = &src[kind.clone()] == b"type"
        && TEXT_TYPES.contains(&&src[kind_value.clone()])
        && &src[text.clone()] == b"text"
        && src[text_value.start] == b'"';
    Ok(bare.then(|| text_value.clone()))
}

/// A number by its decimal value: `1.0`, `10e-1` and `1` are one.
fn normal_number(text: &str) -> Result<String, Abnormal> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.parse().map_err(|_| Abnormal)?;
    let mut digits = format!("{whole}{fraction}");
    let mut power = exponent.checked_sub(fraction.len() as i64).ok_or(Abnormal)?;
    let kept = digits.trim_end_matches('0').len();
    power = power.saturating_add((digits.len() - kept) as i64);
    digits.truncate(kept);
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok("0".into());
    }
    if power.saturating_add(digits.len() as i64) > 308 || power < -400 {
        return Err(Abnormal);
    }
    let sign = if negative { "-" } else { "" };
    Ok(match power {
        0..=40 => format!("{sign}{digits}{}", "0".repeat(power as usize)),
        _ => format!("{sign}{digits}e{power}"),
    })
}

impl From<super::scan::Fault> for Abnormal {
    fn from(_: super::scan::Fault) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(text: &str) -> Result<String, Abnormal> {
        let mut out = Vec::new();
        write_envelope(text.as_bytes(), 0..text.len(), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn equal_items_have_one_form() {
        let plain = envelope(r#"{"role":"user","content":"a<é\n"}"#).unwrap();
        for other in [
            r#"{"content":"a\u003c\u00e9\n","role":"user"}"#,
            r#"{ "role" : "user", "content" : [ {"type":"text","text":"a<é\u000a"} ] }"#,
            r#"{"role":"user","content":[{"text":"a<é\n","type":"text","cache_control":{"type":"ephemeral"}}]}"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a<é\n"}]}"#,
        ] {
            assert_eq!(envelope(other).unwrap(), plain, "{other}");
        }
    }

    #[test]
    fn keys_of_arguments_and_schemas_stay() {
        let a = envelope(r#"{"type":"tool_use","id":"1","input":{"b":1,"a":2}}"#).unwrap();
        let b = envelope(r#"{"type":"tool_use","id":"1","input":{"a":2,"b":1}}"#).unwrap();
        assert_ne!(a, b);
        assert_eq!(
            envelope(r#"{"function":{"arguments":"{}","name":"f"},"type":"function","id":"c"}"#),
            envelope(r#"{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}"#)
        );
    }

    #[test]
    fn numbers_go_by_value() {
        for (text, normal) in [
            ("1.0", "1"),
            ("1e2", "100"),
            ("-0", "0"),
            ("0.10", "1e-1"),
            ("10e-1", "1"),
            ("0", "0"),
            ("123456789012345678901234", "123456789012345678901234"),
            ("-1.50", "-15e-1"),
        ] {
            assert_eq!(normal_number(text).as_deref(), Ok(normal), "{text}");
        }
        assert_eq!(normal_number("1e400"), Err(Abnormal));
    }

    #[test]
    fn what_has_no_normal_form() {
        assert_eq!(envelope(r#"{"role":"user","content":"\ud83d"}"#), Err(Abnormal));
        assert_eq!(envelope(r#"{"role":"user","role":"user"}"#), Err(Abnormal));
        let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(envelope(&deep), Err(Abnormal));
    }
}
