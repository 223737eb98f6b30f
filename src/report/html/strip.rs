//! A request as a strip: what of it stood, what is new, what must be read again, what the proxy added.

use std::io::{self, Write};

use crate::audit::Share;
use crate::report::{conversation::Turn, escape::Markup, figures::bytes};

/// Writes the strip of a request; the widest of the conversation is as wide as the page.
pub fn write(turn: &Turn, widest: u64, to: &mut dyn Write) -> io::Result<()> {
    let all = turn.bytes();
    write!(
        to,
        r#"<span class="strip" role="img" aria-label="{} of request {}" style="width:{:.2}%">"#,
        bytes(all),
        turn.number,
        share(all, widest)
    )?;
    for segment in &turn.strip {
        let name = class(segment.share);
        let title = format!("{name}: {} from {}", bytes(segment.bytes), segment.item);
        write!(
            to,
            r#"<span class="seg {name}" data-bytes="{}" style="width:{:.3}%" title="{}"></span>"#,
            segment.bytes,
            share(segment.bytes, all),
            Markup(&title)
        )?;
    }
    writeln!(to, "</span>")
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64 * 100.0
    }
}

fn class(share: Share) -> &'static str {
    match share {
        Share::Stable => "stable",
        Share::New => "new",
        Share::Broken => "broken",
        Share::Node => "node",
    }
}
