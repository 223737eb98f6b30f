//! What changed between two heads, and where: lists of a known shape as wholes, lists in another order, then line by
//! line and token by token.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::digest;
use super::kind::{ChurnKind, is_path, list_of};
use super::line::{bullet, common, differences, likeness, masked};

/// Lines between the first and the last that differ, at most: with more, they are one passage.
const MAX_LINES: usize = 2048;
/// Lines of a passage that are compared one by one, at most.
const MAX_PAIRS: usize = 256;

/// A place: a block and bytes in it.
pub(super) type Place = (usize, Range<usize>);

/// One change.
#[derive(Debug)]
pub(super) struct Found {
    pub before: Place,
    pub after: Place,
    pub kind: ChurnKind,
    pub anchor: u64,
    /// A part of one line, rather than whole lines that came, went or changed places.
    pub inline: bool,
}

/// A head, cut into lines without the white space at their ends.
pub(super) struct Page<'a> {
    lines: Vec<Line<'a>>,
}

#[derive(Clone, Copy)]
struct Line<'a> {
    block: usize,
    start: usize,
    text: &'a str,
}

/// Where the old lines went.
pub(super) struct Shift {
    lines: Vec<Went>,
}

struct Went {
    from: Place,
    /// The new line and how much of it is as it was, at its start and at its end.
    to: Option<(Place, [usize; 2])>,
}

/// All changes, and where the rest went.
pub(super) fn between(old: &Page<'_>, new: &Page<'_>) -> (Vec<Found>, Shift) {
    let mut work = Work {
        old,
        new,
        taken: [vec![false; old.lines.len()], vec![false; new.lines.len()]],
        to: vec![None; old.lines.len()],
        found: Vec::new(),
    };
    let hunks = work.align();
    work.lists();
    work.orders(&hunks);
    for [a, b] in hunks {
        work.hunk(a, b);
    }
    let shift = work.shift();
    (work.found, shift)
}

impl<'a> Page<'a> {
    pub(super) fn of(head: &'a [String]) -> Self {
        let mut lines = Vec::new();
        for (block, text) in head.iter().enumerate() {
            let mut start = 0;
            for line in text.split('\n') {
                let text = line.trim_end();
                lines.push(Line { block, start, text });
                start += line.len() + 1;
            }
        }
        Self { lines }
    }

    fn texts(&self) -> Vec<&'a str> {
        self.lines.iter().map(|line| line.text).collect()
    }

    /// The bytes of some lines; an empty range stands at the start of the line behind it.
    fn place(&self, lines: Range<usize>) -> Place {
        let Some(first) = self.lines.get(lines.start) else {
            let end = self
                .lines
                .last()
                .map_or((0, 0), |last| (last.block, last.start + last.text.len()));
            return (end.0, end.1..end.1);
        };
        let within = self.lines[lines]
            .iter()
            .take_while(|line| line.block == first.block);
        let end = within
            .last()
            .map_or(first.start, |last| last.start + last.text.len());
        (first.block, first.start..end)
    }

    /// The lines around one that `alike` holds for, in its block.
    fn run(&self, at: usize, alike: impl Fn(&str) -> bool) -> Range<usize> {
        let fits = |line: &&Line<'_>| line.block == self.lines[at].block && alike(line.text);
        let before = self.lines[..at].iter().rev().take_while(fits).count();
        let behind = self.lines[at..].iter().take_while(fits).count();
        at - before..at + behind.max(1)
    }

    /// What a list, or a line that starts with what changes, is known by: the line above it and its heading.
    fn above(&self, at: usize) -> u64 {
        let block = self.lines.get(at).map(|line| line.block);
        let above = self.lines[..at]
            .iter()
            .rev()
            .take_while(|line| Some(line.block) == block);
        let line = above.map(|line| line.text).find(|text| !text.is_empty());
        digest(&[self.heading(at), &masked(line.unwrap_or_default(), &[])])
    }

    fn heading(&self, at: usize) -> &'a str {
        let block = self.lines.get(at).map(|line| line.block);
        let above = self.lines[..at]
            .iter()
            .rev()
            .take_while(|line| Some(line.block) == block);
        above
            .map(|line| line.text)
            .find(|text| text.starts_with('#'))
            .unwrap_or_default()
    }

    /// The lists whose lines tell their kind.
    fn lists(&self) -> Vec<(ChurnKind, u64, Range<usize>)> {
        let (mut lists, mut at) = (Vec::new(), 0);
        while at < self.lines.len() {
            let Some(kind) = list_of(self.lines[at].text) else {
                at += 1;
                continue;
            };
            let run = self.run(at, |text| list_of(text) == Some(kind));
            lists.push((kind, self.above(run.start), run.clone()));
            at = run.end.max(at + 1);
        }
        lists
    }
}

/// The comparison under way.
struct Work<'a, 'p> {
    old: &'p Page<'a>,
    new: &'p Page<'a>,
    /// Lines that need no further look, of both sides.
    taken: [Vec<bool>; 2],
    /// The new line of an old one.
    to: Vec<Option<usize>>,
    found: Vec<Found>,
}

impl Work<'_, '_> {
    /// Notes where the lines that stand went, and gives the passages between them.
    fn align(&mut self) -> Vec<[Range<usize>; 2]> {
        let (old, new) = (self.old.texts(), self.new.texts());
        let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let ends = old[front..].iter().rev().zip(new[front..].iter().rev());
        let back = ends.take_while(|(a, b)| a == b).count();
        let (middle_old, middle_new) = (front..old.len() - back, front..new.len() - back);
        (0..front).for_each(|at| self.to[at] = Some(at));
        (1..=back).for_each(|at| self.to[old.len() - at] = Some(new.len() - at));
        if middle_old.len().max(middle_new.len()) > MAX_LINES {
            return vec![[middle_old, middle_new]];
        }
        let mut hunks: Vec<[Range<usize>; 2]> = Vec::new();
        for op in capture_diff_slices(Algorithm::Myers, &old[middle_old], &new[middle_new]) {
            let (tag, a, b) = op.as_tag_tuple();
            let (a, b) = (a.start + front..a.end + front, b.start + front..b.end + front);
            if tag == DiffTag::Equal {
                a.zip(b).for_each(|(a, b)| self.to[a] = Some(b));
                continue;
            }
            match hunks
                .last_mut()
                .filter(|last| last[0].end == a.start && last[1].end == b.start)
            {
                Some(last) => *last = [last[0].start..a.end, last[1].start..b.end],
                None => hunks.push([a, b]),
            }
        }
        hunks
    }

    /// Lists of a known shape: each as a whole.
    fn lists(&mut self) {
        let (olds, mut news) = (self.old.lists(), self.new.lists());
        for (kind, anchor, old) in olds {
            let same = news.iter().position(|new| (new.0, new.1) == (kind, anchor));
            let new = same.map(|at| news.remove(at).2);
            self.list(kind, anchor, (Some(old), new));
        }
        for (kind, anchor, new) in news {
            self.list(kind, anchor, (None, Some(new)));
        }
    }

    fn list(
        &mut self,
        kind: ChurnKind,
        anchor: u64,
        (old, new): (Option<Range<usize>>, Option<Range<usize>>),
    ) {
        let gone =
            |at: usize, to: &[Option<usize>]| (0..at).rev().find_map(|at| to[at]).map_or(0, |at| at + 1);
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) => (old, new),
            (Some(old), None) => {
                let at = gone(old.start, &self.to);
                (old, at..at)
            }
            (None, Some(new)) => {
                let at = self
                    .to
                    .iter()
                    .position(|to| *to >= Some(new.end))
                    .unwrap_or(self.to.len());
                (at..at, new)
            }
            (None, None) => return,
        };
        let texts = |page: &Page<'_>, lines: &Range<usize>| -> Vec<String> {
            page.lines[lines.clone()]
                .iter()
                .map(|line| line.text.to_owned())
                .collect()
        };
        let changed = texts(self.old, &old) != texts(self.new, &new);
        self.take(&old, &new);
        if changed {
            self.found.push(Found {
                before: self.old.place(old),
                after: self.new.place(new),
                kind,
                anchor,
                inline: false,
            });
        }
    }

    fn take(&mut self, old: &Range<usize>, new: &Range<usize>) {
        self.taken[0][old.clone()].fill(true);
        self.taken[1][new.clone()].fill(true);
    }

    /// Lines that went from one place of a list to another.
    fn orders(&mut self, hunks: &[[Range<usize>; 2]]) {
        let mut gone: HashMap<String, Vec<usize>> = HashMap::new();
        let lines = |side: usize, taken: &[Vec<bool>; 2], hunks: &[[Range<usize>; 2]]| -> Vec<usize> {
            let all = hunks.iter().flat_map(|hunk| hunk[side].clone());
            all.filter(|at| !taken[side][*at]).collect()
        };
        for at in lines(0, &self.taken, hunks).into_iter().rev() {
            let text = self.old.lines[at].text;
            if !text.is_empty() {
                gone.entry(text.to_owned()).or_default().push(at);
            }
        }
        for at in lines(1, &self.taken, hunks) {
            let from = gone.get_mut(self.new.lines[at].text).and_then(Vec::pop);
            let Some(from) = from.filter(|_| !self.taken[1][at]) else {
                continue;
            };
            let alike = |line: &str| {
                let bullet = bullet(line);
                move |text: &str| super::line::bullet(text) == bullet && !text.is_empty()
            };
            let new = self.new.run(at, alike(self.new.lines[at].text));
            let old = self.old.run(from, alike(self.old.lines[from].text));
            let anchor = self.new.above(new.start);
            if anchor == self.old.above(old.start) {
                self.order(anchor, old, new);
            }
        }
    }

    fn order(&mut self, anchor: u64, old: Range<usize>, new: Range<usize>) {
        let text = |page: &Page<'_>, at: usize| page.lines[at].text.to_owned();
        let starts = old.clone().zip(new.clone());
        let front = starts
            .take_while(|(a, b)| text(self.old, *a) == text(self.new, *b))
            .count();
        let ends = old.clone().rev().zip(new.clone().rev());
        let most = old.len().min(new.len()) - front.min(old.len().min(new.len()));
        let back = ends
            .take(most)
            .take_while(|(a, b)| text(self.old, *a) == text(self.new, *b))
            .count();
        let (old, new) = (
            old.start + front..old.end - back,
            new.start + front..new.end - back,
        );
        self.take(&old, &new);
        self.found.push(Found {
            before: self.old.place(old),
            after: self.new.place(new),
            kind: ChurnKind::ListOrder,
            anchor,
            inline: false,
        });
    }

    /// Old lines against new ones at one place.
    fn hunk(&mut self, old: Range<usize>, new: Range<usize>) {
        let left = |side: usize, range: Range<usize>, taken: &[Vec<bool>; 2]| -> Vec<usize> {
            range.filter(|at| !taken[side][*at]).collect()
        };
        let (olds, news) = (
            left(0, old.clone(), &self.taken),
            left(1, new.clone(), &self.taken),
        );
        if olds.len().max(news.len()) > MAX_PAIRS {
            return self.loose((olds, old), (news, new));
        }
        let only = olds.len() == 1 && news.len() == 1;
        let (mut loose, mut rest, mut next) = (Vec::new(), Vec::new(), 0);
        for at in news {
            let line = self.new.lines[at].text;
            let fits = |old: &usize| only || likeness(self.old.lines[*old].text, line);
            match olds[next..].iter().position(fits) {
                Some(skipped) => {
                    rest.extend(&olds[next..next + skipped]);
                    next += skipped + 1;
                    self.pair(olds[next - 1], at);
                }
                None => loose.push(at),
            }
        }
        rest.extend(&olds[next..]);
        self.loose((rest, old), (loose, new));
    }

    /// Lines without a counterpart: a passage that came, went or was written anew.
    fn loose(&mut self, (olds, old): (Vec<usize>, Range<usize>), (news, new): (Vec<usize>, Range<usize>)) {
        let filled =
            |page: &Page<'_>, lines: &[usize]| lines.iter().any(|at| !page.lines[*at].text.is_empty());
        if !filled(self.old, &olds) && !filled(self.new, &news) {
            return;
        }
        let span = |lines: &[usize], whole: &Range<usize>| match (lines.first(), lines.last()) {
            (Some(first), Some(last)) => *first..*last + 1,
            _ => whole.start..whole.start,
        };
        let (old_span, new_span) = (span(&olds, &old), span(&news, &new));
        let texts = olds.iter().map(|at| self.old.lines[*at].text);
        let mut texts = texts
            .chain(news.iter().map(|at| self.new.lines[*at].text))
            .filter(|text| !text.is_empty());
        let kind = if texts.all(is_path) {
            ChurnKind::Path
        } else {
            ChurnKind::Text
        };
        self.found.push(Found {
            before: self.old.place(old_span),
            anchor: self.new.above(new_span.start),
            after: self.new.place(new_span),
            kind,
            inline: false,
        });
    }

    fn pair(&mut self, from: usize, at: usize) {
        self.to[from] = Some(at);
        let (old, new) = (self.old.lines[from], self.new.lines[at]);
        if old.text == new.text {
            return;
        }
        for (kind, before, after, front) in differences(old.text, new.text) {
            let said = front.chars().any(char::is_alphanumeric);
            let anchor = if said {
                digest(&[self.new.heading(at), &front])
            } else {
                self.new.above(at)
            };
            let place = |line: Line<'_>, range: Range<usize>| {
                (line.block, line.start + range.start..line.start + range.end)
            };
            self.found.push(Found {
                before: place(old, before),
                after: place(new, after),
                kind,
                anchor,
                inline: true,
            });
        }
    }

    fn shift(&self) -> Shift {
        let went = |(at, line): (usize, &Line<'_>)| Went {
            from: self.old.place(at..at + 1),
            to: self.to[at].map(|to| {
                let new = self.new.lines[to].text;
                (self.new.place(to..to + 1), common(line.text, new))
            }),
        };
        Shift {
            lines: self.old.lines.iter().enumerate().map(went).collect(),
        }
    }
}

impl Shift {
    /// Where bytes of the old head are in the new one; none where they are gone.
    pub(super) fn of(&self, block: usize, range: &Range<usize>) -> Option<Place> {
        let start = self.point(block, range.start, true)?;
        let end = self.point(block, range.end, range.is_empty())?;
        (start.0 == end.0 && start.1 <= end.1).then_some((start.0, start.1..end.1))
    }

    fn point(&self, block: usize, at: usize, starts: bool) -> Option<(usize, usize)> {
        let next = self
            .lines
            .partition_point(|line| (line.from.0, line.from.1.start) <= (block, at));
        let went = self.lines.get(next.checked_sub(1)?)?;
        let (from, length) = (went.from.1.start, went.from.1.len());
        let (to, [front, back]) = went.to.as_ref()?;
        let offset = at.checked_sub(from).filter(|offset| *offset <= length)?;
        let in_front = if starts {
            offset < *front || *front == length
        } else {
            offset <= *front
        };
        if in_front {
            return Some((to.0, to.1.start + offset));
        }
        (length - offset <= *back).then(|| (to.0, to.1.end - (length - offset)))
    }
}
