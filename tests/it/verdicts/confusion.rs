//! What every expected class and cause came out as, over the cases, the fixtures and the conversations at random.

use std::collections::{BTreeMap, BTreeSet};

use inkfast::prefix::{By, Cause, Class};

use super::{fixtures, property};
use crate::cases;

/// Rows of what is right, columns of what was found.
#[derive(Default)]
struct Table(BTreeMap<(String, String), usize>);

impl Table {
    fn add(&mut self, expected: &str, found: &str) {
        *self.0.entry((expected.to_owned(), found.to_owned())).or_default() += 1;
    }

    /// Everything beside the diagonal.
    fn mistaken(&self) -> usize {
        let beside = self.0.iter().filter(|((expected, found), _)| expected != found);
        beside.map(|(_, count)| count).sum()
    }

    fn print(&self, title: &str) {
        let found: BTreeSet<&String> = self.0.keys().map(|(_, found)| found).collect();
        let rows: BTreeSet<&String> = self.0.keys().map(|(expected, _)| expected).collect();
        let total: usize = self.0.values().sum();
        println!("{title}: {total} verdicts, {} mistaken", self.mistaken());
        println!("{:<22}{:>6}  found as", "expected", "all");
        for row in rows {
            let of_row = |found: &&String| self.0.get(&(row.clone(), (*found).clone())).copied();
            let all: usize = found.iter().filter_map(of_row).sum();
            let as_found = found
                .iter()
                .filter_map(|found| Some(format!("{found} {}", of_row(found)?)));
            println!("{row:<22}{all:>6}  {}", as_found.collect::<Vec<_>>().join(", "));
        }
        println!();
    }
}

#[test]
fn confusion() {
    let (mut causes, mut classes) = (Table::default(), Table::default());
    for found in property::all() {
        causes.add(found.expected, found.cause);
    }
    for found in fixtures::all() {
        causes.add(&found.expected[1], found.cause);
        classes.add(&found.expected[0], found.class);
    }
    for found in cases::all() {
        causes.add(&found.cause[0], &found.cause[1]);
        if let Some(class) = &found.class {
            classes.add(&class[0], &class[1]);
        }
    }
    causes.print("causes");
    classes.print("classes");
    assert_eq!((causes.mistaken(), classes.mistaken()), (0, 0));
    let has = |table: &Table, name: &str| table.0.keys().any(|(expected, _)| expected == name);
    let by_client = Cause::ALL.into_iter().filter(|cause| cause.by() == By::Client);
    let missing: Vec<_> = by_client
        .map(Cause::as_str)
        .filter(|name| !has(&causes, name))
        .collect();
    assert!(missing.is_empty(), "no input for {missing:?}");
    let missing: Vec<_> = Class::ALL
        .iter()
        .map(|class| class.as_str())
        .filter(|name| !has(&classes, name))
        .collect();
    assert!(missing.is_empty(), "no input for {missing:?}");
}
