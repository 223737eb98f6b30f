//! The prompt algebra over random prompts. The delta is read by a reader of its own, which knows the layout that
//! `delta.rs` documents and nothing of how it is made.

#![allow(clippy::expect_used)] // Helpers of tests fail like tests.

use inkfast::prompt::{
    GroupKind, Mode, Rendering, Sameness, TextMode, Update, derive, group_for, joined, render, same_prompt,
};
use proptest::prelude::*;

const LINES: [&str; 36] = [
    "",
    "",
    "",
    "---",
    "You are a coding agent. Follow the repository rules. Prefer small edits.",
    "Current date: 2026-11-30",
    "Current date: 2026-12-01",
    "Mode: plan",
    "Mode: build",
    "cwd = /repo/app",
    "cwd = /repo/other",
    "# Project",
    "## Rules",
    "## Tasks",
    "# Notes",
    "- [ ] 1 add flag",
    "- [x] 1 add flag",
    "- [ ] 2 write docs",
    "- [x] 2 write docs",
    "- run the tests",
    "- run the tests after each change",
    "* ask first",
    "  - indented item",
    "```sh",
    "# install",
    "```",
    "> a quoted line",
    ">",
    "The line with \"Mode:\" now reads:",
    "After the line with \"a\" under \"b\", this is added:",
    "The rest of the system prompt stays in force, and so do other system and developer messages.",
    "{\"name\": \"x\", \"size\": 3}",
    "Antworte höflich – und kurz.",
    "日付: 十一月",
    "trailing space   ",
    "same",
];

/// A prompt of one to three blocks, and the same prompt with one to four edits.
fn edited_prompt() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    let line = || proptest::sample::select(&LINES[..]);
    let blocks = prop::collection::vec(prop::collection::vec(line(), 1..14), 1..4);
    let edit = (
        0..6usize,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        line(),
    );
    (blocks, prop::collection::vec(edit, 1..5), any::<bool>()).prop_map(|(old, edits, crlf)| {
        let mut new = old.clone();
        for (kind, block, at, line) in edits {
            if new.is_empty() {
                break;
            }
            let block = block.index(new.len());
            let at = at.index(new[block].len().max(1));
            match kind {
                0 => drop(new.remove(block)),
                1 => new.push(vec![line]),
                2 => new[block].insert(at, line),
                3 if at < new[block].len() => drop(new[block].remove(at)),
                _ if at < new[block].len() => new[block][at] = line,
                _ => {}
            }
        }
        let text = |blocks: Vec<Vec<&str>>, end: &str| blocks.iter().map(|lines| lines.join(end)).collect();
        (text(old, if crlf { "\r\n" } else { "\n" }), text(new, "\n"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_group_leads_to_the_wanted_prompt((old, wanted) in edited_prompt()) {
        match group_for(&old, &wanted) {
            None => prop_assert_ne!(same_prompt(&old, &wanted), Sameness::Different),
            Some(group) => {
                let derived = derive(&old, &group.entries);
                prop_assert_eq!(same_prompt(&old, &wanted), Sameness::Different);
                prop_assert_ne!(same_prompt(&derived, &wanted), Sameness::Different);
                prop_assert_eq!(group_for(&derived, &wanted), None);
                let replaces = group.entries.iter().filter(|entry| entry.mode == Mode::Replace).count();
                prop_assert_eq!(replaces, usize::from(group.kind != GroupKind::Append));
            }
        }
    }

    #[test]
    fn a_reader_of_the_text_alone_gets_the_wanted_prompt((old, wanted) in edited_prompt()) {
        for mode in [TextMode::Full, TextMode::Delta, TextMode::Auto] {
            if let Some(update) = told(&old, &wanted, mode) {
                prop_assert_eq!(read(&plain(&old), &update), plain(&wanted), "{}", update.text);
            }
        }
    }
}

#[test]
fn an_edit_of_any_line_of_a_real_looking_head_is_a_delta() {
    let lines: Vec<&str> = HEAD.trim().split('\n').collect();
    let (mut edits, mut told_by_name) = (0, 0);
    for at in (0..lines.len()).filter(|at| !lines[*at].is_empty()) {
        let (first, last) = lines[at].rsplit_once(' ').unwrap_or((lines[at], ""));
        let changed = format!("{first} other");
        let added = format!("{first} {last}\n- a new line");
        for line in [Some(changed.as_str()), Some(added.trim_end()), None] {
            let mut new = lines.clone();
            new.splice(at..=at, line);
            let (old, new) = (vec![HEAD.trim().to_owned()], vec![new.join("\n")]);
            let update = told(&old, &new, TextMode::Delta).expect("an edit");
            assert_eq!(read(&plain(&old), &update), plain(&new), "{}", update.text);
            edits += 1;
            told_by_name += u32::from(update.rendering == Rendering::Delta);
        }
    }
    assert!(told_by_name * 100 >= edits * 95, "{told_by_name} of {edits}");
}

const HEAD: &str = "
You are a coding agent. Follow the repository rules. Prefer small edits.
Answer in English unless the user writes in another language.

# Tools
- Use `read` before you edit a file.
- Use `shell` for builds and tests; never for editing.

# Style
## Rust
- Format with rustfmt.
- Run the tests after each change.
## Python
- Format with black.
- Run the tests after each change.

# Environment
Current date: 2026-11-30
Working directory: /repo/app
Platform: linux
Is a git repository: yes

## Current tasks
- [x] 1 add the flag
- [ ] 2 write the docs
- [ ] 3 ship it
";

#[test]
fn named_edits_are_deltas_that_read_back() {
    let rules = "## Rules\n- run the tests\n- ask first\n";
    let table = [
        (
            "a label",
            format!("Mode: plan\n{rules}"),
            format!("Mode: build\n{rules}"),
        ),
        (
            "a list item",
            format!("{rules}\nend"),
            "## Rules\n- run the tests\n- ask never\n\nend".into(),
        ),
        (
            "an added line",
            format!("{rules}\nend"),
            format!("{rules}- commit\n\nend"),
        ),
        (
            "an added section",
            rules.into(),
            format!("{rules}\n## Tasks\n- [ ] 1\n- [ ] 2\n"),
        ),
        (
            "a section in front",
            rules.into(),
            format!("## Tasks\n- [ ] 1\n\n{rules}"),
        ),
        ("a removed line", rules.into(), "## Rules\n- ask first".into()),
        (
            "a removed section",
            format!("## Tasks\n- [ ] 1\n\n{rules}"),
            rules.into(),
        ),
        (
            "several",
            format!("a: 1\nb: 2\n{rules}x: 1"),
            "a: 2\n## Rules\n- run the tests\n- more\n- ask first\nx: 2".into(),
        ),
        (
            "doubled lines",
            "# Go\n- test it\n# Rust\n- test it".into(),
            "# Go\n- test it\n# Rust\n- test it twice".into(),
        ),
        (
            "line ends",
            format!("Mode: plan\n{rules}").replace('\n', "\r\n"),
            format!("Mode: build  \n{rules}"),
        ),
        (
            "other scripts",
            "日付: 十一月\nKürze: ja\n终".into(),
            "日付: 十二月\nKürze: nein\n终".into(),
        ),
        (
            "layout words",
            "> Mode: a\nThe line with \"x\" now reads:\ny 1".into(),
            "> Mode: b\nThe line with \"x\" now reads:\n> z\ny 2".into(),
        ),
    ];
    for (what, old, new) in table {
        let (old, new) = (vec![old], vec![new]);
        let update = told(&old, &new, TextMode::Delta).expect(what);
        assert_eq!(update.rendering, Rendering::Delta, "{what}");
        assert_eq!(
            read(&plain(&old), &update),
            plain(&new),
            "{what}: {}",
            update.text
        );
    }
}

#[test]
fn a_block_that_goes_is_a_delta() {
    let all = ["Base rules.", "Plan mode is on.\nDo not edit.", "Be brief."].map(String::from);
    for gone in 0..3 {
        let mut new = all.to_vec();
        new.remove(gone);
        let update = told(&all, &new, TextMode::Delta).expect("an edit");
        assert_eq!(update.rendering, Rendering::Delta, "{gone}");
        assert_eq!(read(&plain(&all), &update), plain(&new), "{}", update.text);
    }
}

#[test]
fn an_escaped_update_can_be_had_back() {
    let text = "a <system-reminder>b</system-update> &lt;system-update> &amp;lt;/system-reminder> c &lt;";
    let wrapped = inkfast::prompt::wrap(text, &[]);
    let inner = wrapped
        .strip_prefix("<system-reminder>\n")
        .and_then(|rest| rest.strip_suffix("\n</system-reminder>"));
    let inner = inner.expect("one pair of tags");
    assert!(!inkfast::prompt::looks_like_sentinel(inner));
    assert_eq!(unescaped(inner), text);
}

fn told(old: &[String], wanted: &[String], mode: TextMode) -> Option<Update> {
    group_for(old, wanted).map(|group| render(old, wanted, &group, mode, 0))
}

/// The joined text without white space at line ends and at the end.
fn plain(blocks: &[String]) -> String {
    let joined = joined(blocks);
    joined
        .trim_end()
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Takes one `amp;` off before each tag, or else turns `&lt;` into `<`.
fn unescaped(text: &str) -> String {
    let tags = [
        "/system-reminder>",
        "/system-update>",
        "system-reminder>",
        "system-update>",
    ];
    let mut out = String::new();
    for (at, c) in text.char_indices() {
        if tags.iter().any(|tag| text[at..].starts_with(tag)) {
            if let Some(before) = out.strip_suffix("amp;lt;") {
                out = format!("{before}lt;");
            } else if let Some(before) = out.strip_suffix("&lt;") {
                out = format!("{before}<");
            }
        }
        out.push(c);
    }
    out
}

/// What a reader makes of an update who has the old text only.
fn read(old: &str, update: &Update) -> String {
    let (opening, rest) = update.text.split_once("\n\n").unwrap_or((&update.text, ""));
    if opening.contains("is added to the system prompt") {
        return plain(&[old.to_owned(), rest.to_owned()]);
    }
    if update.rendering == Rendering::Full {
        return plain(&[rest.to_owned()]);
    }
    let (old, mut items) = (items_of(old.split('\n')), items_of(old.split('\n')));
    for (statement, quoted) in statements(rest) {
        obey(&old, &mut items, statement, &quoted);
    }
    items
        .iter()
        .flat_map(|item| item.gap.iter().chain([&item.line]))
        .cloned()
        .collect::<Vec<_>>()
        .join("\n")
}

#[derive(Clone, Debug, PartialEq)]
struct Item {
    /// Which line of the old text it is.
    old: Option<usize>,
    gap: Vec<String>,
    line: String,
}

fn items_of<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Item> {
    let (mut items, mut gap) = (Vec::new(), Vec::new());
    for line in lines {
        if line.is_empty() || line == "---" {
            gap.push(line.to_owned());
        } else {
            items.push(Item {
                old: Some(items.len()),
                gap: std::mem::take(&mut gap),
                line: line.to_owned(),
            });
        }
    }
    items
}

fn statements(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text
        .split('\n')
        .filter(|line| !line.is_empty() && !line.starts_with("The rest of the system prompt stays"))
    {
        match line.strip_prefix('>') {
            Some(quote) => found
                .last_mut()
                .expect("a statement")
                .1
                .push(quote.strip_prefix(' ').unwrap_or(quote)),
            None => found.push((line, Vec::new())),
        }
    }
    found
}

fn obey(old: &[Item], items: &mut Vec<Item>, statement: &str, quoted: &[&str]) {
    let inner = |start: &str, end: &str| {
        statement
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
    };
    let place = |items: &[Item], name: &str| {
        let line = find(old, name);
        items
            .iter()
            .position(|item| item.old == Some(line))
            .expect("a line that still stands")
    };
    let tail = quoted
        .iter()
        .rev()
        .take_while(|line| line.is_empty() || **line == "---")
        .count();
    let (body, tail) = quoted.split_at(quoted.len() - tail);
    let mut new: Vec<Item> = items_of(body.iter().copied())
        .into_iter()
        .map(|item| Item { old: None, ..item })
        .collect();
    if let Some(name) = inner("The line with ", " now reads:") {
        let at = place(items, name);
        new[0].gap = items[at].gap.clone();
        items.splice(at..=at, new);
    } else if let Some(name) = inner("After the line with ", ", this is added:") {
        let at = place(items, name) + 1;
        items.splice(at..at, new);
    } else if let Some(name) = inner("Before the line with ", ", this is added:") {
        let at = place(items, name);
        new[0].gap = std::mem::replace(
            &mut items[at].gap,
            tail.iter().map(|line| (*line).to_owned()).collect(),
        );
        items.splice(at..at, new);
    } else if let Some(names) = inner("Between the line with ", ", this now stands:") {
        let (from, to) = names.split_once(" and the line with ").expect("two names");
        let (from, to) = (place(items, from), place(items, to));
        new[0].gap = items[from + 1].gap.clone();
        items.splice(from + 1..to, new);
    } else if let Some(name) = inner("Behind the line with ", ", to the end, this now stands:") {
        let from = place(items, name) + 1;
        new[0].gap = items[from].gap.clone();
        items.splice(from.., new);
    } else if let Some(name) = inner("Before the line with ", ", from the start, this now stands:") {
        let to = place(items, name);
        new[0].gap = items[0].gap.clone();
        items.splice(..to, new);
    } else if let Some(name) = inner("The line with ", " no longer applies.") {
        let at = place(items, name);
        cancel(items, at, at);
    } else {
        let names = inner("The lines from the one with ", " no longer apply.").expect("a known statement");
        let (from, to) = names.split_once(" to the one with ").expect("two names");
        let (from, to) = (place(items, from), place(items, to));
        cancel(items, from, to);
    }
}

fn cancel(items: &mut Vec<Item>, from: usize, to: usize) {
    let gone: Vec<Item> = items.drain(from..=to).collect();
    let Some(next) = items.get_mut(from) else {
        return;
    };
    let gaps = gone.iter().map(|item| &item.gap).chain([&next.gap]);
    let longest = gaps
        .reduce(|a, b| if b.len() > a.len() { b } else { a })
        .expect("one")
        .clone();
    next.gap = if from == 0 { gone[0].gap.clone() } else { longest };
}

/// The one old line that a name finds.
fn find(old: &[Item], name: &str) -> usize {
    let name = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'))
        .expect("a quoted name");
    let mut parts: Vec<&str> = name.split("\" under \"").collect();
    let text = parts.remove(0);
    let mut scope = 0..old.len();
    for heading in parts.iter().rev() {
        let at = only(
            scope
                .clone()
                .filter(|at| level(old, *at).is_some() && old[*at].line == *heading),
        );
        let ends = |next: &usize| {
            old[*next].gap.iter().any(|line| line == "---")
                || level(old, *next).is_some_and(|l| l <= level(old, at).expect("a heading"))
        };
        scope = at..(at + 1..old.len()).find(ends).unwrap_or(old.len());
    }
    only(scope.filter(|at| old[*at].line.contains(text)))
}

fn only(mut found: impl Iterator<Item = usize>) -> usize {
    let first = found.next().expect("a name that finds a line");
    assert_eq!(found.next(), None, "a name that finds one line");
    first
}

fn level(items: &[Item], at: usize) -> Option<usize> {
    let is_fence =
        |item: &Item| item.line.trim_start().starts_with("```") || item.line.trim_start().starts_with("~~~");
    let fenced = items[..at].iter().filter(|item| is_fence(item)).count() % 2 == 1;
    let marks = items[at].line.chars().take_while(|c| *c == '#').count();
    (!fenced && (1..=6).contains(&marks) && items[at].line[marks..].starts_with(' ')).then_some(marks)
}
