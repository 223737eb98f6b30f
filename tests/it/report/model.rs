//! Reports of observations that were made by hand: nothing known, nothing read, hostile names, more than is kept.

use std::sync::Arc;

use inkfast::{
    audit::{Judged, Observation, Segment, Share, Side, Skipped, Source},
    prefix::{Cause, Class, Verdict},
    prompt::VolatileKind,
    report::{Baseline, Form, Gates, Report, ReportOptions, VolatileSpan},
    route::{loss::Loss, warmth::Miss},
    wire::{format::Format, usage::Usage},
};
use serde_json::Value;
use uuid::Uuid;

use super::{HOSTILE, forms::Validator};

/// The first request of a conversation, of which nothing is known.
fn first(number: u64) -> Observation {
    let judged = Judged {
        verdict: Verdict::new_lineage(),
        before: None,
        after: None,
        loss: Loss::default(),
    };
    Observation {
        source: Source {
            file: Arc::from("agent.jsonl"),
            number,
        },
        number,
        at_ms: None,
        upstream: Arc::from(""),
        format: Format::OpenaiChat,
        model: None,
        conversation: number,
        continues: None,
        items: 1,
        received: judged.clone(),
        sent: judged,
        strip: Vec::new(),
        usage: None,
        miss: None,
        diagnoses: Vec::new(),
        failed: false,
    }
}

fn verdict(class: Class, cause: Cause, item: Option<&str>, kept: u64) -> Verdict {
    Verdict {
        class,
        cause,
        item: item.map(str::to_owned),
        kept,
        before: 1000,
        ..Verdict::new_lineage()
    }
}

/// A request that continues the conversation's first one; both legs read the same.
fn next(number: u64, conversation: u64, verdict: Verdict, loss: Loss) -> Observation {
    let judged = Judged {
        verdict,
        before: None,
        after: None,
        loss,
    };
    Observation {
        conversation,
        continues: Some(conversation),
        received: judged.clone(),
        sent: judged,
        ..first(number)
    }
}

fn broken(number: u64, conversation: u64) -> Observation {
    let verdict = verdict(Class::Rewrite, Cause::SystemChanged, Some("system[0]"), 100);
    next(
        number,
        conversation,
        verdict,
        Loss {
            bytes: 900,
            tokens: None,
            cost: None,
        },
    )
}

/// Everything that can be known.
fn known() -> Vec<Observation> {
    let volatile = Cause::SystemVolatile(VolatileKind::Time);
    let side = |byte, text: &str| {
        Some(Side {
            id: Uuid::from_bytes([byte; 16]),
            offset: 20,
            bytes: 5,
            window: Some((text.to_owned(), 7)),
        })
    };
    let mut all = vec![
        first(1),
        next(
            2,
            1,
            verdict(Class::Rewrite, volatile, Some("system[0]"), 100),
            Loss::default(),
        ),
        next(
            3,
            1,
            verdict(Class::Extend, Cause::None, None, 1000),
            Loss::default(),
        ),
    ];
    for (seen, at) in all.iter_mut().zip(0..) {
        seen.at_ms = Some(1_700_000_000_000 + at * 1000);
        seen.upstream = Arc::from("api.openai.com");
        seen.model = Some(Arc::from("gpt-5.5"));
        seen.usage = Some(Usage {
            input_total: Some(300),
            cache_read: Some(200),
            ..Usage::default()
        });
        seen.strip = vec![
            Segment {
                share: Share::Stable,
                bytes: 100,
                item: "system[0]".to_owned(),
            },
            Segment {
                share: Share::Broken,
                bytes: 900,
                item: "messages[1]".to_owned(),
            },
        ];
    }
    all[1].sent.loss = Loss {
        bytes: 900,
        tokens: Some(225),
        cost: Some(0.000_2),
    };
    all[1].sent.before = side(1, "It was 10:01");
    all[1].sent.after = side(2, "It was 10:02");
    // The client broke more than what left did.
    all[2].received.verdict = verdict(Class::Reorder, Cause::ToolsReordered, Some("tools[0]:read"), 0);
    all[2].miss = Some(Miss::TtlExpired);
    all
}

fn report(all: &[Observation], gates: &Gates) -> Report {
    let mut report = Report::new(ReportOptions::default());
    all.iter().for_each(|one| report.add(one));
    report.conclude(gates);
    report
}

fn written(report: &Report, form: Form) -> String {
    let mut text = Vec::new();
    report.write(form, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn every_form(report: &Report) -> Vec<(Form, String)> {
    Form::ALL
        .into_iter()
        .map(|form| (form, written(report, form)))
        .collect()
}

/// All gates at once.
fn gates() -> Gates {
    Gates {
        fail_under: Some(0.9),
        fail_on: vec![Cause::SystemChanged, Cause::SystemVolatile(VolatileKind::Time)],
        baseline: Some(baseline(&report(&[], &Gates::default()))),
    }
}

fn baseline(report: &Report) -> Baseline {
    Baseline::read(written(report, Form::Json).as_bytes()).unwrap()
}

fn known_report() -> Report {
    let mut report = report(&known(), &Gates::default());
    report.skip(&Skipped {
        source: first(4).source,
        reason: "no_body",
    });
    report.volatile(VolatileSpan {
        conversation: 1,
        kind: "clock",
        block: "system[0]".to_owned(),
        changes: 1,
        requests: 3,
        advice: "Move it behind the history.".to_owned(),
    });
    report.conclude(&gates());
    report
}

#[test]
fn text_for_a_person() {
    insta::assert_snapshot!(written(&known_report(), Form::Text));
}

#[test]
fn markdown_for_a_summary() {
    insta::assert_snapshot!(written(&known_report(), Form::Markdown));
}

#[test]
fn a_figure_that_nobody_knows_is_no_zero() {
    let report = report(&[first(1), broken(2, 1)], &Gates::default());
    let json: Value = serde_json::from_str(&written(&report, Form::Json)).unwrap();
    let finding = &json["findings"][0];
    assert_eq!(
        (&finding["tokens"], &finding["cost"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(json["causes"]["sent"][0]["tokens"], Value::Null);
    assert_eq!(json["causes"]["sent"][0]["tokens_unknown"], 1);
    assert_eq!(json["totals"]["tokens"]["cache_read"], Value::Null);
    let sarif: Value = serde_json::from_str(&written(&report, Form::Sarif)).unwrap();
    assert_eq!(
        sarif["runs"][0]["results"][0]["properties"]["tokens_lost"],
        Value::Null
    );
    for form in [Form::Text, Form::Junit] {
        let text = written(&report, form);
        assert!(text.contains("- tokens, cost -"), "{text}");
    }
}

#[test]
fn a_report_of_nothing_has_every_form_and_passes_no_gate() {
    let report = report(&[], &gates());
    assert_eq!(report.gates().len(), 3);
    assert!(
        report
            .gates()
            .iter()
            .all(|gate| gate.passed.is_none() && !gate.why.is_empty())
    );
    for (form, text) in every_form(&report) {
        assert!(!text.contains("NaN") && !text.is_empty(), "{form:?}: {text}");
    }
    assert_eq!(attributes(&written(&report, Form::Junit), "failures"), ["3", "3"]);
}

#[test]
fn hostile_names_stay_names() {
    let mut all = [first(1), broken(2, 1)];
    for seen in &mut all {
        seen.source.file = Arc::from(HOSTILE);
        seen.upstream = Arc::from(HOSTILE);
        seen.model = Some(Arc::from(HOSTILE));
    }
    all[1].sent.verdict.item = Some(format!("tools[0]:{HOSTILE}"));
    let report = report(&all, &gates());
    for (form, text) in every_form(&report) {
        let controls = text.chars().any(|one| one.is_control() && one != '\n');
        assert!(!controls, "{form:?} has control characters");
        if [Form::Junit, Form::Html, Form::Markdown].contains(&form) {
            assert!(!text.contains("<script") && !text.contains("<img"), "{form:?}");
        }
    }
    let markdown = written(&report, Form::Markdown);
    let rows = || markdown.lines().filter(|line| line.starts_with("| rewrite"));
    let bars = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows().all(|row| bars(row) == 8), "{markdown}");
    assert!(markdown.contains("\\`a\\`"), "{markdown}");
    valid(&report);
}

#[test]
fn forms_of_the_known_and_of_nothing_are_valid() {
    valid(&known_report());
    valid(&report(&[], &gates()));
    valid(&report(&[first(1), broken(2, 1)], &Gates::default()));
}

/// By the schemas, where the validators are here.
fn valid(report: &Report) {
    let Some(validator) = Validator::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (form, name) in [
        (Form::Json, "out.json"),
        (Form::Sarif, "out.sarif"),
        (Form::Junit, "out.xml"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, written(report, form)).unwrap();
        assert_eq!(validator.of_form(&file), None, "{name}");
    }
}

#[test]
fn a_fingerprint_is_the_same_wherever_a_finding_stands() {
    let print = |number, item: &str| {
        let mut seen = broken(number, 1);
        seen.sent.verdict.item = Some(item.to_owned());
        let sarif = written(&report(&[first(1), seen], &Gates::default()), Form::Sarif);
        let sarif: Value = serde_json::from_str(&sarif).unwrap();
        let result = &sarif["runs"][0]["results"][0];
        assert_eq!(
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
            number
        );
        result["partialFingerprints"].clone()
    };
    assert_eq!(
        print(2, "messages[4].content[0]"),
        print(9, "messages[12].content[1]")
    );
    assert_ne!(print(2, "tools[0]:read"), print(2, "tools[0]:write"));
}

#[test]
fn details_are_bounded_and_what_was_left_out_is_counted() {
    let options = ReportOptions {
        conversations: 5,
        findings: 3,
        turns: 8,
        kinds: 1,
        ..ReportOptions::default()
    };
    let mut report = Report::new(options);
    for number in (1..200).step_by(2) {
        report.add(&first(number));
        let mut seen = broken(number + 1, number);
        seen.sent.loss.bytes = number;
        seen.sent.verdict.item = Some(format!("tools[0]:tool_{number}"));
        report.add(&seen);
    }
    let passed = report.conclude(&Gates {
        baseline: Some(Baseline::default()),
        ..Gates::default()
    });
    assert!(!passed);
    assert_eq!(
        (report.totals().requests, report.totals().conversations),
        (200, 100)
    );
    assert_eq!(
        (report.totals().sent.breaks, report.totals().sent.lost),
        (100, 10_000)
    );
    assert!(report.conversations().len() <= 10 && report.findings().len() <= 6);
    assert_eq!(report.findings()[0].loss.bytes, 199, "the worst are kept");
    let json: Value = serde_json::from_str(&written(&report, Form::Json)).unwrap();
    let count = |name: &str| json[name].as_array().unwrap().len() as u64;
    let left_out = |name: &str| json["left_out"][name].as_u64().unwrap();
    assert_eq!(count("conversations") + left_out("conversations"), 100);
    assert_eq!(count("findings") + left_out("findings"), 100);
    assert_eq!(left_out("kinds"), 99);
}

/// A baseline that has every kind forgives; of a report whose kinds are not all told apart nobody knows.
#[test]
fn a_baseline_is_its_own_report() {
    let before = report(&[first(1), broken(2, 1)], &Gates::default());
    let gates = Gates {
        baseline: Some(baseline(&before)),
        ..Gates::default()
    };
    let again = report(&[first(1), broken(2, 1), broken(3, 1)], &gates);
    assert_eq!(again.gates()[0].passed, Some(true));
    let mut other = broken(3, 1);
    other.sent.verdict.cause = Cause::ToolChanged;
    let new = report(&[first(1), broken(2, 1), other], &gates);
    assert_eq!(new.gates()[0].passed, Some(false));
    assert!(
        new.gates()[0].why.contains("tool_changed@system"),
        "{:?}",
        new.gates()
    );
    let levels: Vec<_> = new
        .findings()
        .iter()
        .map(|one| (one.number, one.level().as_str()))
        .collect();
    assert_eq!(levels, [(3, "error"), (2, "warning")]);
}

/// The numbers of a suite are those of its cases, also where the details of findings were left out.
#[test]
fn junit_counts_what_it_has() {
    let mut report = Report::new(ReportOptions {
        findings: 1,
        ..ReportOptions::default()
    });
    report.add(&first(1));
    (2..8).for_each(|number| report.add(&broken(number, 1)));
    report.conclude(&Gates {
        fail_on: vec![Cause::SystemChanged],
        ..Gates::default()
    });
    let text = written(&report, Form::Junit);
    assert_eq!(
        attributes(&text, "tests"),
        ["7", "1", "6"],
        "all, the gate, the conversation"
    );
    assert_eq!(attributes(&text, "failures"), ["7", "1", "6"]);
    assert_eq!(text.matches("<testcase ").count(), 7);
    assert_eq!(text.matches("<failure ").count(), 7);
}

/// The values of an attribute, in the order of the document.
fn attributes<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let mark = format!(" {name}=\"");
    text.split(&mark)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

#[test]
fn a_summary_is_under_a_mebibyte() {
    let long = "<|`".repeat(10_000);
    let mut all = Vec::new();
    for number in (1..2000).step_by(2) {
        all.push(first(number));
        let mut seen = broken(number + 1, number);
        seen.model = Some(Arc::from(long.as_str()));
        seen.source.file = Arc::from(long.as_str());
        seen.sent.verdict.item = Some(long.clone());
        all.push(seen);
    }
    let text = written(&report(&all, &gates()), Form::Markdown);
    assert!(text.len() < 1 << 20, "{} bytes", text.len());
}
