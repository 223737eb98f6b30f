//! For code scanning: SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0). A rule for each cause, a result for each kept
//! finding. A fingerprint is of the kind of a finding, so that it is the same one in the next run.

use std::collections::BTreeMap;
use std::io::{self, Write};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    Report,
    figures::{bytes, visible},
    finding::Finding,
    words::{advice, remedy, title},
};
use crate::prefix::Cause;

/// What a path must not hold to be a relative or absolute reference.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b':');

/// Writes the report.
pub fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let findings = report.findings();
    let mut rules: BTreeMap<&str, Cause> = BTreeMap::new();
    for one in &findings {
        rules.insert(one.verdict.cause.as_str(), one.verdict.cause);
    }
    let order: BTreeMap<&str, usize> = rules.keys().copied().zip(0..).collect();
    let results: Vec<Value> = findings
        .iter()
        .map(|one| result(one, order[one.verdict.cause.as_str()]))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "inkfast",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.values().map(|cause| rule(*cause)).collect::<Vec<_>>(),
            }},
            "columnKind": "utf16CodeUnits",
            "results": results,
            "properties": {
                "requests": report.totals.requests,
                "findings_left_out": report.left_out.findings,
                "kept_ratio": report.totals.sent.ratio(),
            },
        }],
    });
    serde_json::to_writer_pretty(&mut *to, &log)?;
    writeln!(to)
}

fn rule(cause: Cause) -> Value {
    let help = format!("{} {}", advice(cause), remedy(cause.remedy()));
    json!({
        "id": cause.as_str(),
        "shortDescription": { "text": format!("{}.", title(cause)) },
        "fullDescription": { "text": help },
        "help": { "text": help },
        "defaultConfiguration": { "level": "warning" },
        "properties": { "tags": ["prompt-cache"], "remedy": cause.remedy().as_str() },
    })
}

fn result(one: &Finding, rule: usize) -> Value {
    let kind = one.kind();
    let item = one.verdict.item.as_deref().unwrap_or("the request");
    let text = format!(
        "{} at {}: {} of {} that were sent before must be read again.",
        title(one.verdict.cause),
        visible(item),
        bytes(one.loss.bytes),
        bytes(one.verdict.before)
    );
    json!({
        "ruleId": one.verdict.cause.as_str(),
        "ruleIndex": rule,
        "level": one.level().as_str(),
        "message": { "text": text },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": utf8_percent_encode(&one.source.file, PATH).to_string() },
                "region": { "startLine": one.source.number.max(1) },
            },
            "logicalLocations": [{ "fullyQualifiedName": visible(item), "kind": "element" }],
        }],
        "partialFingerprints": {
            "inkfastKind/v1": format!("{}@{} ({})", kind.cause, visible(&kind.item), kind.format),
        },
        "properties": {
            "class": one.verdict.class.as_str(),
            "leg": one.leg.as_str(),
            "request": one.number,
            "continues": one.continues,
            "conversation": one.conversation,
            "format": one.format.as_str(),
            "model": one.model.as_deref().map(visible),
            "bytes_kept": one.verdict.kept,
            "bytes_before": one.verdict.before,
            "bytes_lost": one.loss.bytes,
            "tokens_lost": one.loss.tokens,
            "cost": one.loss.cost,
            "remedy": one.verdict.cause.remedy().as_str(),
        },
    })
}
