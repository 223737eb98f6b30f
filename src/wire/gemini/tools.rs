//! The tools of a request: one item for each function declaration, one for each other tool.

use std::ops::Range;

use crate::prefix::digest::{Canonical, Wire};
use crate::prefix::item::{Tool, ToolMark};
use crate::wire::body::Reader;
use crate::wire::canonical;
use crate::wire::envelope::{self, Digests, Envelope};
use crate::wire::scan::Fault;

/// Reads the value of `tools`: an array, or one tool.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<(), Fault> {
    let start = reader.cursor.pos();
    if reader.take_over_tools(start) {
        return Ok(());
    }
    each(reader, &mut tool)?;
    reader.request.layout.tools_array = Some(start..reader.cursor.pos());
    Ok(())
}

/// A tool: lists of function declarations, and what the provider runs itself, by its name.
fn tool(reader: &mut Reader<'_>) -> Result<(), Fault> {
    reader.cursor.pass(b'{')?;
    let mut first = true;
    while let Some(name) = reader.cursor.key(&mut first)? {
        match &reader.src[name.clone()] {
            b"functionDeclarations" | b"function_declarations" => each(reader, &mut declaration)?,
            _ => {
                let value = reader.skip()?;
                built_in(reader, name, value);
            }
        }
    }
    Ok(())
}

fn declaration(reader: &mut Reader<'_>) -> Result<(), Fault> {
    let declaration = Envelope::read(&mut reader.cursor)?;
    let name = declaration.text(&reader.cursor, b"name").unwrap_or_default();
    let digests = declaration.digests(reader.src, &[b"tool"], &mut reader.scratch);
    push(reader, declaration.range, name, digests);
    Ok(())
}

fn built_in(reader: &mut Reader<'_>, name: Range<usize>, value: Range<usize>) {
    let (src, label) = (reader.src, &reader.src[name.clone()]);
    let raw = &src[value.clone()];
    reader.scratch.clear();
    let normal = canonical::write_value(src, value.clone(), &mut reader.scratch).is_ok();
    let normal: &[u8] = if normal { &reader.scratch } else { raw };
    let digests = Digests {
        wire: Wire(envelope::digest(&[b"tool", label], &[raw])),
        canonical: Canonical(envelope::digest(&[b"tool", label], &[normal])),
        len: (label.len() + normal.len()) as u32,
    };
    let label = String::from_utf8_lossy(label).into_owned();
    push(reader, name.start - 1..value.end, label, digests);
}

fn push(reader: &mut Reader<'_>, range: Range<usize>, name: String, digests: Digests) {
    let mark = ToolMark {
        name: name.clone(),
        wire: digests.wire,
        canonical: digests.canonical,
        len: digests.len,
    };
    reader.request.tools.push(Tool { range, name, mark });
}

/// Reads each object of an array, or the one object that stands in its place.
fn each<'a>(
    reader: &mut Reader<'a>,
    read: &mut dyn FnMut(&mut Reader<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    match reader.cursor.peek()? {
        b'[' => {
            reader.cursor.pass(b'[')?;
            let mut first = true;
            while reader.cursor.element(&mut first)? {
                if reader.cursor.peek()? != b'{' {
                    return Err(Fault::Shape);
                }
                read(reader)?;
            }
            Ok(())
        }
        b'{' => read(reader),
        b'n' => reader.skip().map(drop),
        _ => Err(Fault::Shape),
    }
}
