//! Which of the candidates are answered, and in which order. Pure.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use crate::prefix::keys::Keys;
use crate::prefix::past::{MAX_PATHS, Path, Seq};

/// The best [`MAX_PATHS`] of `paths`, best first: the deepest; among equals those with this head, then with
/// this session, then the newest. As long as there is room, every lineage keeps its best path.
pub fn rank(paths: Vec<Arc<Path>>, keys: &Keys) -> Vec<Arc<Path>> {
    let mut ranked: Vec<_> = paths
        .into_iter()
        .map(|path| (standing(&path, keys), path))
        .collect();
    ranked.sort_by_key(|(standing, _)| Reverse(*standing));
    let mut lineages = HashSet::new();
    let (best, rest): (Vec<_>, Vec<_>) = ranked
        .into_iter()
        .partition(|(_, path)| lineages.insert(path.lineage));
    let mut kept: Vec<_> = best.into_iter().chain(rest).take(MAX_PATHS).collect();
    kept.sort_by_key(|(standing, _)| Reverse(*standing));
    kept.into_iter().map(|(_, path)| path).collect()
}

/// How many leading history items of the request stand at the same place in the path.
pub fn depth(path: &Path, keys: &Keys) -> usize {
    path.items
        .iter()
        .zip(&keys.items)
        .take_while(|(mine, theirs)| mine.canonical == **theirs)
        .count()
}

/// Larger is better; the number makes it strict.
fn standing(path: &Path, keys: &Keys) -> (usize, bool, bool, Seq) {
    let session = keys.hints.session.is_some() && path.hints.session == keys.hints.session;
    (
        depth(path, keys),
        path.head.digest == keys.head,
        session,
        path.seq,
    )
}
