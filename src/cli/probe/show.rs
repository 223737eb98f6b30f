//! What the probe prints: its findings, and the rows for a table of routes.
//!
//! For people both are one text that is a table of routes, the findings being its comments.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{
    target::Target,
    tool_loop::InLoop,
    trial::{Accepted, Kept, Obeyed, Trial},
};
use crate::{prefix::policy::Row, route::Finding};

/// All that was found.
pub struct Report<'a> {
    /// Who was asked.
    pub target: &'a Target,
    /// About which model.
    pub model: &'a str,
    /// What came of it.
    pub trials: &'a [Trial],
    /// What the ledger was told.
    pub kept: Option<String>,
}

impl Report<'_> {
    /// For people, and to be pasted.
    pub fn text(&self) -> String {
        let tokens = self.trials.iter().filter_map(|trial| trial.tokens).max();
        let tokens = tokens.map_or_else(String::new, |tokens| format!(", prompts of {tokens} tokens"));
        let mut text = format!(
            "# {} at {}, {}{tokens}\n#\n# {:<37} {:<9} {:<28} {:<50} in a tool loop\n",
            self.model,
            self.place(),
            self.target.shape.format,
            "an update that travels as",
            "accepted",
            "obeyed",
            "kept in place",
        );
        for trial in self.trials {
            text.push_str(&line(trial));
        }
        if let Some(kept) = &self.kept {
            text.push_str(&format!("#\n# {kept}\n"));
        }
        format!("{text}\n{}", self.toml())
    }

    /// For machines.
    pub fn json(&self) -> String {
        let report = json!({
            "upstream": self.place(),
            "format": self.target.shape.format,
            "model": self.model,
            "rows": self.trials.iter().map(object).collect::<Vec<_>>(),
            "toml": self.toml(),
            "state": self.kept,
        });
        format!("{report}\n")
    }

    /// The rows as the table of routes has them.
    pub fn toml(&self) -> String {
        let string = |text: &str| toml::Value::from(text).to_string();
        let rows: String = self.trials.iter().map(row_line).collect();
        let to = self.target.destination(self.model);
        format!(
            "[[carriers]]\nhosts = [{}]\nformat = \"{}\"\nmodels = [{}]\nrows = [\n{rows}]\nsource = \"inkfast probe\"\n\
             date = \"{}\"\n",
            string(to.host),
            to.format,
            string(to.model),
            date(SystemTime::now()),
        )
    }

    /// The endpoint without its query, which may hold a key.
    fn place(&self) -> String {
        let uri = self.target.uri.to_string();
        uri.split('?').next().unwrap_or_default().to_owned()
    }
}

fn line(trial: &Trial) -> String {
    let name = format!("{}, {}", word(&trial.row.carrier), word(&trial.row.placement));
    let (accepted, rest) = match &trial.accepted {
        Accepted::Yes => (
            "yes",
            format!(
                "{:<28} {:<50} {}",
                trial.obeyed.words(),
                trial.kept.words(),
                trial.in_loop.words()
            ),
        ),
        Accepted::No(refusal, pattern) => {
            let pattern = pattern.as_ref().map(|pattern| format!(", \"{pattern}\""));
            ("no", format!("{refusal}{}", pattern.unwrap_or_default()))
        }
        Accepted::Unknown(why) => ("unknown", why.clone()),
    };
    format!("# {name:<37} {accepted:<9} {rest}\n")
}

/// A row for the table; as a comment with the reason where it does not belong there.
fn row_line(trial: &Trial) -> String {
    let Row {
        carrier,
        head_role,
        placement,
        tool_loop,
    } = &trial.row;
    let role = if *head_role { ", head_role = true" } else { "" };
    let row = format!(
        "{{ carrier = \"{}\"{role}, placement = \"{}\", tool_loop = \"{}\" }},",
        word(carrier),
        word(placement),
        word(&trial.in_loop.proven(*tool_loop))
    );
    if trial.is_good() {
        return format!("  {row}\n");
    }
    let reason = trial.finding().map_or("not proven", Finding::as_str);
    format!("  # {reason}: {row}\n")
}

fn object(trial: &Trial) -> Value {
    let mut row = json!({
        "row": trial.row,
        "listed": trial.listed,
        "good": trial.is_good(),
        "finding": trial.finding().map(Finding::as_str),
        "obeyed": trial.obeyed.as_str(),
        "in_loop": trial.in_loop.as_str(),
        "tokens": trial.tokens,
    });
    row["accepted"] = match &trial.accepted {
        Accepted::Yes => json!({"is": "yes"}),
        Accepted::No(refusal, pattern) => json!({
            "is": "no", "status": refusal.status.as_u16(), "class": refusal.class, "pattern": pattern,
        }),
        Accepted::Unknown(why) => json!({"is": "unknown", "why": why}),
    };
    row["kept"] = match trial.kept {
        Kept::Yes(cached, of) => json!({"is": "yes", "cached": cached, "unchanged": of}),
        Kept::No(cached, of) => json!({"is": "no", "cached": cached, "unchanged": of}),
        Kept::Uncounted => json!({"is": "unknown", "why": "uncounted"}),
        Kept::NoCache => json!({"is": "unknown", "why": "no_cache"}),
        Kept::Unasked => json!({"is": "unknown", "why": "unasked"}),
    };
    row
}

impl Obeyed {
    fn words(self) -> &'static str {
        match self {
            Self::New => "yes",
            Self::Old => "no, it holds to the old rule",
            Self::Neither => "no, it follows neither rule",
            Self::Dropped => "no, it never saw the update",
            Self::NoRule => "unknown, it obeys no rule",
            Self::Repeated => "unknown, it obeys no rule, but repeats the word",
            Self::Cut => "unknown, it was cut short",
            Self::Unasked => "unknown",
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Old => "old",
            Self::Neither => "neither",
            Self::Dropped => "dropped",
            Self::NoRule => "no_rule_obeyed",
            Self::Repeated => "repeated",
            Self::Cut => "cut",
            Self::Unasked => "unasked",
        }
    }
}

impl InLoop {
    fn words(&self) -> String {
        match self {
            Self::Obeyed => "yes".into(),
            Self::Accepted => "accepted, but not obeyed".into(),
            Self::Refused(refusal) => format!("no, {refusal}"),
            Self::Unknown => "unknown, no tool loop is taken".into(),
            Self::Unasked => "not asked".into(),
        }
    }

    fn as_str(&self) -> &'static str {
        match self {
            Self::Obeyed => "obeyed",
            Self::Accepted => "accepted",
            Self::Refused(_) => "refused",
            Self::Unknown => "unknown",
            Self::Unasked => "unasked",
        }
    }
}

impl Kept {
    fn words(self) -> String {
        match self {
            Self::Yes(cached, of) => format!("yes, {cached} tokens cached ({of} without an update)"),
            Self::No(cached, of) => format!("no, {cached} tokens cached ({of} without an update)"),
            Self::Uncounted => "unknown, cached tokens are not counted".into(),
            Self::NoCache => "unknown, nothing is cached without an update either".into(),
            Self::Unasked => "unknown".into(),
        }
    }
}

/// The name of a value as the table writes it.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| Some(value.as_str()?.to_owned()))
        .unwrap_or_default()
}

/// The day of a time, in UTC: year, month and day of the proleptic Gregorian calendar.
fn date(time: SystemTime) -> String {
    let mut days = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + u64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn days_have_their_dates() {
        let day = |days: u64| date(UNIX_EPOCH + Duration::from_secs(days * 86_400 + 7));
        for (days, name) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (11_016, "2000-02-29"),
            (20_787, "2026-11-30"),
            (20_818, "2026-12-31"),
        ] {
            assert_eq!(day(days), name);
        }
    }
}
