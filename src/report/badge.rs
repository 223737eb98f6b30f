//! A line with a colour, in the form that badge services read from an endpoint.

use std::io::{self, Write};

use serde::Serialize;

use super::{Report, figures::percent};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Badge {
    schema_version: u32,
    label: &'static str,
    message: String,
    color: &'static str,
}

pub fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let failed = report.gates.iter().any(|gate| gate.passed != Some(true));
    let ratio = report.totals.sent.ratio();
    let badge = Badge {
        schema_version: 1,
        label: "prompt prefix",
        message: ratio.map_or_else(|| "unknown".to_owned(), |_| format!("{} kept", percent(ratio))),
        color: match ratio {
            _ if failed => "red",
            None => "lightgrey",
            Some(ratio) if ratio >= 0.95 => "brightgreen",
            Some(ratio) if ratio >= 0.8 => "yellow",
            Some(_) => "orange",
        },
    };
    serde_json::to_writer(&mut *to, &badge)?;
    writeln!(to)
}
