//! The append/replace walk, and its inverse: the group of entries that turns one prompt into another.
//!
//! The walk is that of panto's system prompt (1.3), the group that of its reconciliation (2.5): an edit is
//! compared with the prompt in force *now*, so that A -> B -> A comes back to A.

use serde::{Deserialize, Serialize};

/// What an [`Entry`] does to the blocks before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Adds a block behind those in force.
    Append,
    /// Clears what was in force, the baseline included, then adds its block.
    Replace,
}

/// One step of the walk: a block of prompt text and what it does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// What the entry does to the blocks before it.
    pub mode: Mode,
    /// The block, as the client sent it. Empty with [`Mode::Replace`]: clear, and add nothing.
    pub text: String,
}

/// What a [`Group`] is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// Blocks were added behind those in force; all entries append.
    Append,
    /// Anything else changed; the first entry replaces, the rest append.
    Replace,
    /// The prompt was cleared; the one entry replaces by nothing.
    Removal,
}

/// The entries of one edit. They are stored and sent together or not at all; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Group {
    /// What the edit is as a whole.
    pub kind: GroupKind,
    /// The steps, in the order of the client's blocks.
    pub entries: Vec<Entry>,
}

/// How two prompts compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// Equal to the byte.
    Equal,
    /// Equal but for what rule 3 of this module ignores.
    WhitespaceOnly,
    /// An edit.
    Different,
}

/// The prompt in force after `entries` on top of `baseline`.
pub fn derive(baseline: &[String], entries: &[Entry]) -> Vec<String> {
    let mut blocks = baseline.to_vec();
    for entry in entries {
        if entry.mode == Mode::Replace {
            blocks.clear();
        }
        if entry.mode == Mode::Append || !entry.text.is_empty() {
            blocks.push(entry.text.clone());
        }
    }
    blocks
}

/// The group that turns `effective` into `wanted`; `None` where that is no edit.
///
/// `derive(effective, group.entries)` is `wanted` without its blank blocks, block by block; an append keeps the
/// older blocks with the white space that they have.
pub fn group_for(effective: &[String], wanted: &[String]) -> Option<Group> {
    let (old, new) = (normal_blocks(effective), normal_blocks(wanted));
    if old == new {
        return None;
    }
    let blocks: Vec<&String> = wanted.iter().filter(|block| !is_blank(block)).collect();
    if blocks.is_empty() {
        let entries = vec![entry(Mode::Replace, "")];
        return Some(Group {
            kind: GroupKind::Removal,
            entries,
        });
    }
    if new.starts_with(&old) {
        let entries = blocks[old.len()..]
            .iter()
            .map(|text| entry(Mode::Append, text))
            .collect();
        return Some(Group {
            kind: GroupKind::Append,
            entries,
        });
    }
    let mut entries: Vec<Entry> = blocks.iter().map(|text| entry(Mode::Append, text)).collect();
    entries[0].mode = Mode::Replace;
    Some(Group {
        kind: GroupKind::Replace,
        entries,
    })
}

/// Whether two prompts are one, and how closely.
pub fn same_prompt(a: &[String], b: &[String]) -> Sameness {
    if a == b {
        Sameness::Equal
    } else if normal_blocks(a) == normal_blocks(b) {
        Sameness::WhitespaceOnly
    } else {
        Sameness::Different
    }
}

/// All blocks as one text, by panto's rule (1.4): the newlines at the end of each block go, and the `\r` before
/// them; blank blocks go; the rest is joined with a rule.
pub fn joined(blocks: &[String]) -> String {
    let full = blocks.iter().filter(|block| !is_blank(block));
    full.map(|block| block.trim_end_matches(['\n', '\r']))
        .collect::<Vec<_>>()
        .join(BLOCK_RULE)
}

/// What stands between two blocks in a joined text.
const BLOCK_RULE: &str = "\n\n---\n\n";

fn entry(mode: Mode, text: &str) -> Entry {
    Entry {
        mode,
        text: text.to_owned(),
    }
}

/// Whether a block holds nothing but white space.
pub(super) fn is_blank(block: &str) -> bool {
    block.trim().is_empty()
}

/// The blocks in the form in which they are compared (rule 3 of this module).
pub fn normal_blocks(blocks: &[String]) -> Vec<String> {
    blocks
        .iter()
        .filter(|block| !is_blank(block))
        .map(|block| normal(block))
        .collect()
}

/// One block in the form in which it is compared.
pub(super) fn normal(block: &str) -> String {
    let lines: Vec<&str> = block.trim_end().split('\n').map(str::trim_end).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Kind = Option<(GroupKind, usize)>;
    type Blocks = &'static [&'static str];

    fn list(blocks: &[&str]) -> Vec<String> {
        blocks.iter().map(|block| (*block).to_owned()).collect()
    }

    #[test]
    fn the_walk_of_panto_1_3() {
        use Mode::{Append as A, Replace as R};
        let table: [(&[(Mode, &str)], Blocks); 8] = [
            (&[], &[]),
            (&[(A, "a")], &["a"]),
            (&[(A, "a"), (A, "b")], &["a", "b"]),
            (&[(A, "a"), (R, "r")], &["r"]),
            (&[(R, "r"), (A, "a"), (R, "s")], &["s"]),
            (&[(A, "a"), (R, "r"), (A, "b"), (A, "c")], &["r", "b", "c"]),
            (&[(A, "a"), (R, "")], &[]),
            (&[(A, "a"), (R, ""), (A, "b")], &["b"]),
        ];
        for (steps, want) in table {
            let entries: Vec<Entry> = steps.iter().map(|(mode, text)| entry(*mode, text)).collect();
            assert_eq!(derive(&[], &entries), list(want), "{steps:?}");
        }
    }

    #[test]
    fn the_baseline_stands_in_front_until_it_is_replaced() {
        let base = list(&["base"]);
        assert_eq!(derive(&base, &[entry(Mode::Append, "a")]), list(&["base", "a"]));
        assert_eq!(derive(&base, &[entry(Mode::Replace, "r")]), list(&["r"]));
    }

    #[test]
    fn groups_of_each_kind() {
        use GroupKind::{Append, Removal, Replace};
        let table: [(Blocks, Blocks, Kind); 12] = [
            (&["a"], &["a"], None),
            (&["a"], &["a  \r\n\r\n"], None),
            (&["a\r\nb"], &["a\nb\n"], None),
            (&["a", " "], &["a"], None),
            (&[], &["\n"], None),
            (&["a"], &["a", "b", "", "c"], Some((Append, 2))),
            (&[], &["a"], Some((Append, 1))),
            (&["a", "b"], &["b", "a"], Some((Replace, 2))),
            (&["a", "b"], &["a"], Some((Replace, 1))),
            (&["a"], &["b", "c", "d"], Some((Replace, 3))),
            (&["a\nb"], &["a", "b"], Some((Replace, 2))),
            (&["a"], &["", "\n"], Some((Removal, 1))),
        ];
        for (old, new, want) in table {
            let group = group_for(&list(old), &list(new));
            assert_eq!(
                group.map(|g| (g.kind, g.entries.len())),
                want,
                "{old:?} -> {new:?}"
            );
        }
    }

    #[test]
    fn leading_and_inner_white_space_is_an_edit() {
        assert_eq!(same_prompt(&list(&["  a"]), &list(&["a"])), Sameness::Different);
        assert_eq!(
            same_prompt(&list(&["a\n\nb"]), &list(&["a\nb"])),
            Sameness::Different
        );
        assert_eq!(
            same_prompt(&list(&["a \nb"]), &list(&["a\nb\n\n"])),
            Sameness::WhitespaceOnly
        );
    }

    #[test]
    fn a_b_a_comes_back() {
        let (a, b) = (list(&["A"]), list(&["B"]));
        let mut entries = group_for(&a, &b).expect("B is an edit").entries;
        assert_eq!(derive(&a, &entries), b);
        let back = group_for(&derive(&a, &entries), &a).expect("A again is an edit");
        entries.extend(back.entries);
        assert_eq!(derive(&a, &entries), a);
    }

    #[test]
    fn a_reconciled_prompt_resent_is_no_edit() {
        let (base, wanted) = (list(&["a", "b"]), list(&["a", "c", "d"]));
        let entries = group_for(&base, &wanted).expect("an edit").entries;
        for _ in 0..5 {
            assert_eq!(group_for(&derive(&base, &entries), &wanted), None);
        }
    }

    #[test]
    fn joining_strips_newlines_only() {
        assert_eq!(joined(&list(&["a \r\n\n", "\n\n", " b"])), "a \n\n---\n\n b");
        assert_eq!(joined(&[]), "");
    }
}
