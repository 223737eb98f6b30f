//! Just enough of Rust's lexical rules to find the paths that a source file names.

/// Source text of the same length with comments blanked, and once more with strings blanked too.
pub struct Masked {
    /// Without comments.
    pub with_strings: String,
    /// Without comments and without the text of literals.
    pub bare: String,
}

impl Masked {
    pub fn new(text: &str) -> Self {
        let (mut with_strings, mut bare) = (String::new(), String::new());
        let mut rest = text;
        while !rest.is_empty() {
            let (length, kind) = token(rest);
            let (token, tail) = rest.split_at(length);
            let blank: String = token
                .chars()
                .map(|c| if c == '\n' { '\n' } else { ' ' })
                .collect();
            with_strings.push_str(if kind == Kind::Comment { &blank } else { token });
            bare.push_str(if kind == Kind::Code { token } else { &blank });
            rest = tail;
        }
        Masked { with_strings, bare }
    }
}

#[derive(PartialEq)]
enum Kind {
    Code,
    Comment,
    Text,
}

/// The length and kind of the comment, literal or word that `rest` begins with.
fn token(rest: &str) -> (usize, Kind) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), Kind::Comment);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), Kind::Comment);
    }
    let word = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    if matches!(&rest[..word], "" | "b" | "c" | "r" | "br" | "cr") {
        let raw = rest[..word].ends_with('r');
        let hashes = if raw {
            rest[word..].bytes().take_while(|b| *b == b'#').count()
        } else {
            0
        };
        let quote = word + hashes;
        if rest[quote..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            return (end_of_string(rest, quote + 1, &close, raw), Kind::Text);
        }
        if rest[word..].starts_with('\'') && hashes == 0 {
            return end_of_char(&rest[word..]).map_or((word + 1, Kind::Code), |end| (word + end, Kind::Text));
        }
    }
    let one = rest.chars().next().map_or(0, char::len_utf8);
    (word.max(one), Kind::Code)
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        let tail = &rest.as_bytes()[at..];
        match tail {
            [] => return rest.len(),
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
}

fn end_of_string(rest: &str, mut at: usize, close: &str, raw: bool) -> usize {
    while at < rest.len() && !rest.as_bytes()[at..].starts_with(close.as_bytes()) {
        at += if !raw && rest.as_bytes()[at] == b'\\' {
            2
        } else {
            1
        };
    }
    let mut end = (at + close.len()).min(rest.len());
    while !rest.is_char_boundary(end) {
        end += 1;
    }
    end
}

/// The end of a character literal; none for a lifetime.
fn end_of_char(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    match chars.next()? {
        (_, '\\') => rest[3..].find('\'').map(|at| 3 + at + 1),
        _ => chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1),
    }
}

/// Blanks inline test modules.
pub fn without_tests(source: Masked) -> Masked {
    let Masked {
        mut with_strings,
        mut bare,
    } = source;
    while let Some((start, end)) = test_module(&bare) {
        with_strings.replace_range(start..end, &" ".repeat(end - start));
        bare.replace_range(start..end, &" ".repeat(end - start));
    }
    Masked { with_strings, bare }
}

fn test_module(bare: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(start) = bare[from..].find("#[cfg(test)]").map(|at| from + at) {
        from = start + 1;
        let Some(open) = bare[start..].find(['{', ';']).map(|at| start + at) else {
            continue;
        };
        let inline_module = bare[start..open].contains("mod ") && bare.as_bytes()[open] == b'{';
        if !inline_module {
            continue;
        }
        let mut depth = 0;
        let close = bare[open..].char_indices().find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0
        });
        return Some((start, close.map_or(bare.len(), |(at, _)| open + at + 1)));
    }
    None
}

/// Every path in the code, `use` trees expanded: `use a::{b, c::D}` gives `a::b` and `a::c::D`. Words count as paths.
pub fn names(bare: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = bare;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
        rest = path_tree("", &rest[start..], &mut found);
    }
    found
}

/// Reads one path or tree behind `prefix` and returns what follows it.
fn path_tree<'a>(prefix: &str, text: &'a str, found: &mut Vec<String>) -> &'a str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let star = usize::from(end == 0 && text.starts_with('*'));
    let (word, rest) = text.split_at(end + star);
    let path = format!("{prefix}{word}");
    let Some(tail) = rest.strip_prefix("::") else {
        found.push(path);
        return rest;
    };
    if tail.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*') {
        return path_tree(&format!("{path}::"), tail, found);
    }
    let Some(mut group) = tail.strip_prefix('{') else {
        found.push(path);
        return tail;
    };
    loop {
        group = group.trim_start_matches([' ', '\n', ',']);
        match group.chars().next() {
            None => return group,
            Some('}') => return &group[1..],
            Some(c) if c.is_alphabetic() || c == '_' || c == '*' => {
                group = path_tree(&format!("{path}::"), group, found);
            }
            Some(c) => group = &group[c.len_utf8()..],
        }
    }
}
