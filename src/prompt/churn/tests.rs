use super::*;
use proptest::prelude::*;

fn head(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

/// What is found over some heads, with the text of each span in the last one.
fn found(heads: &[String]) -> Vec<(ChurnKind, String, u32)> {
    let mut churn = Churn::default();
    heads.iter().for_each(|text| churn.see(&head(text)));
    let last = heads.last().cloned().unwrap_or_default();
    let spans = churn.spans().into_iter();
    spans
        .map(|span| (span.kind, last[span.range].to_owned(), span.changes))
        .collect()
}

const REST: &str = "You help with a code base.\n\n# Rules\n- Read first.\n- Write less.\n";

#[test]
fn kinds_of_realistic_heads() {
    use ChurnKind::*;
    let table = [
        ("Now: 10:00:01", "Now: 10:00:09", Clock, "10:00:09"),
        (
            "<date>2026-11-30</date>",
            "<date>2026-12-01</date>",
            Date,
            "2026-12-01",
        ),
        (
            "Session 123e4567-e89b-12d3-a456-426614174000",
            "Session 123e4567-e89b-12d3-a456-4266141740ff",
            Uuid,
            "123e4567-e89b-12d3-a456-4266141740ff",
        ),
        ("Turn 9 of 50", "Turn 10 of 50", Counter, "10"),
        ("Trace: 8f3a2b1c9d", "Trace: 0c4411aa7e", Nonce, "0c4411aa7e"),
        (
            "Folder: /home/ann/app",
            "Folder: /home/ann/app/src",
            Path,
            "/home/ann/app/src",
        ),
        ("Branch: main", "Branch: fix/reader", Git, "fix/reader"),
        ("HEAD is at 1a2b3c4d", "HEAD is at 99aa77c1", Git, "99aa77c1"),
        (
            "Status:\n M a.rs",
            "Status:\n M a.rs\n?? b.rs",
            Git,
            " M a.rs\n?? b.rs",
        ),
        (
            "Plan:\n- [ ] one\n- [ ] two",
            "Plan:\n- [x] one\n- [ ] two",
            Todo,
            "- [x] one\n- [ ] two",
        ),
        (
            "Skills:\n- ant\n- bee\n- cat",
            "Skills:\n- cat\n- ant\n- bee",
            ListOrder,
            "- cat\n- ant\n- bee",
        ),
        (
            "Open files:\nsrc/a.rs",
            "Open files:\nsrc/a.rs\nsrc/b/c.rs",
            Path,
            "src/b/c.rs",
        ),
        ("Mode: plan", "Mode: act", Text, "act"),
    ];
    for (old, new, kind, text) in table {
        let heads = [
            format!("{REST}\n{old}\n\nBe kind."),
            format!("{REST}\n{new}\n\nBe kind."),
        ];
        assert_eq!(found(&heads), [(kind, text.to_owned(), 1)], "{old:?} -> {new:?}");
    }
}

#[test]
fn one_clock_is_one_span_though_the_text_above_it_grows() {
    let text = |turn: usize| {
        let notes: String = (0..turn / 7)
            .map(|note| format!("- note {note} is kept\n"))
            .collect();
        format!("{REST}{notes}\nTime: 10:{turn:02}:01, all is well.\nBe kind.")
    };
    let heads: Vec<String> = (0..50).map(text).collect();
    let found = found(&heads);
    assert_eq!(found[0], (ChurnKind::Clock, "10:49:01".to_owned(), 49));
    assert!(
        found[1..]
            .iter()
            .all(|one| one.0 == ChurnKind::Text && one.2 <= 7),
        "{found:?}"
    );
}

#[test]
fn two_spans_of_one_line_are_two() {
    let text = |turn: u32| format!("Today is 2026-11-{:02}, request {turn}.", 10 + turn / 4);
    let heads: Vec<String> = (1..=8).map(text).collect();
    let want = [
        (ChurnKind::Counter, "8".to_owned(), 7),
        (ChurnKind::Date, "2026-11-12".to_owned(), 2),
    ];
    assert_eq!(found(&heads), want);
}

#[test]
fn what_does_not_change_is_no_span() {
    for (old, new) in [("a\nb", "a  \r\nb\n"), ("same 10:00", "same 10:00"), ("", "")] {
        assert_eq!(found(&[old.to_owned(), new.to_owned()]), [], "{old:?}");
    }
}

#[test]
fn a_span_that_is_gone_has_no_bytes_and_comes_back_as_itself() {
    let (with, without) = ("a\n\nClock: 10:00\n\nb", "a\n\nb");
    let later = with.replace("10:00", "10:05");
    let heads = [with, &later, without, with, &later].map(str::to_owned);
    let found = found(&heads);
    let clock: Vec<_> = found.iter().filter(|one| one.0 == ChurnKind::Clock).collect();
    assert_eq!(clock, [&(ChurnKind::Clock, "10:05".to_owned(), 2)], "{found:?}");
}

#[test]
fn many_conversations_are_one_list_and_labels_come_on_request() {
    let of = |folder: &str| {
        let mut churn = Churn::default();
        for minute in 0..3 {
            churn.see(&head(&format!("In {folder}:\nNow: 10:0{minute}\n")));
        }
        churn
    };
    let (one, two) = (of("app"), of("lib"));
    assert_eq!(one.label(&one.spans()[0]), Some("Now:"));
    let all = merged(one.spans().into_iter().chain(two.spans()));
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].changes, all[0].seen), (4, 6));
}

#[test]
fn memory_is_bounded() {
    let mut churn = Churn::default();
    for turn in 0..4 {
        let lines: Vec<String> = (0..20_000)
            .map(|line| format!("Value{line} is {}", line * 7 + turn))
            .collect();
        churn.see(&[lines.join("\n"), "x".repeat(2 * MAX_HEAD)]);
    }
    assert!(churn.spans().len() <= MAX_SPANS);
    assert!(churn.head.iter().map(String::len).sum::<usize>() <= MAX_HEAD);
}

/// A part of a head by its number, as it reads at a turn.
fn part(kind: ChurnKind, turn: usize) -> String {
    let mixed = (turn as u64 + 3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match kind {
        ChurnKind::Clock => format!("Clock: {:02}:{:02}", turn % 24, turn % 60),
        ChurnKind::Date => format!("Day: 2026-11-{:02}", 1 + turn % 28),
        ChurnKind::Uuid => format!("Run id {mixed:08x}-0000-4000-8000-{turn:012x}")
            .replace(&format!("{mixed:08x}-"), &format!("{:08x}-", mixed as u32)),
        ChurnKind::Counter => format!("Messages so far: {turn}"),
        ChurnKind::Nonce => format!("Seal a1b{:08x}", mixed as u32),
        ChurnKind::Path => format!(
            "Working folder: /srv/part/{}",
            ["alpha", "beta", "gamma"][turn % 3]
        ),
        ChurnKind::Git => format!("Current branch: {}", ["main", "topic/one", "topic/two"][turn % 3]),
        ChurnKind::ListOrder => {
            let mut names = ["- hammer", "- nail", "- saw", "- rule"];
            names.rotate_left(turn % 4);
            format!("Tools of the shop:\n{}", names.join("\n"))
        }
        ChurnKind::Todo => {
            let boxes = (0..3).map(|at| if at < turn % 4 { "- [x] step" } else { "- [ ] step" });
            format!("Steps:\n{}", boxes.collect::<Vec<_>>().join("\n"))
        }
        ChurnKind::Text => format!("Mood: {}", ["calm", "brisk", "plain"][turn % 3]),
    }
}

proptest! {
    #[test]
    fn random_edits_of_known_kinds_are_found_and_named(
        kinds in proptest::sample::subsequence(ChurnKind::ALL.to_vec(), 1..=10).prop_shuffle(),
        turns in proptest::collection::vec((0usize..10, 0usize..3), 2..12),
    ) {
        let mut churn = Churn::default();
        let mut at = vec![0usize; kinds.len()];
        let mut changes = vec![0u32; kinds.len()];
        let mut grown = 0;
        let mut last = String::new();
        for (number, (which, more)) in turns.iter().enumerate() {
            let which = which % kinds.len();
            if number > 0 {
                at[which] += 1;
                changes[which] += 1;
                grown += more;
            }
            let front: String = (0..grown).map(|n| format!("Rule {} stands.\n", ["ah", "bee", "sea", "dee"][n % 4])).collect();
            let parts: Vec<String> = kinds.iter().zip(&at).map(|(kind, turn)| part(*kind, *turn)).collect();
            last = format!("You help.\n{front}\n# State\n\n{}\n\nEnd.", parts.join("\n\n"));
            churn.see(&[last.clone()]);
        }
        let spans = churn.spans();
        for (kind, changes) in kinds.iter().zip(&changes) {
            let of: Vec<_> = spans.iter().filter(|span| span.kind == *kind && last.find("# State").is_some_and(|state| span.range.start > state)).collect();
            let counted: u32 = of.iter().map(|span| span.changes).sum();
            prop_assert_eq!(counted, *changes, "{} {:?}\n{}", kind.as_str(), spans, last);
            prop_assert!(of.len() <= 1, "{} {:?}", kind.as_str(), spans);
        }
    }

    #[test]
    fn no_heads_make_it_panic_and_ranges_are_text(heads in proptest::collection::vec(proptest::collection::vec("[ab é\\-\\[\\]x1:/\n#]{0,40}", 0..3), 1..6)) {
        let mut churn = Churn::default();
        for head in &heads {
            churn.see(head);
            for span in churn.spans() {
                let text = head.get(span.block).map(String::as_str).unwrap_or_default();
                prop_assert!(text.get(span.range.clone()).is_some() || span.range.is_empty(), "{:?} {:?}", span, head);
                churn.label(&span);
            }
        }
    }
}
