//! The page of causes says what the code says, and names all of it.

use inkfast::prefix::verdict::{By, Cause, Class};
use inkfast::prompt::ChurnKind;
use inkfast::route::warmth::Miss;

const PAGE: &str = include_str!("../../docs/causes.md");

/// The row of a table that begins with this name.
fn row(name: &str) -> &'static str {
    let first = format!("| `{name}` |");
    PAGE.lines()
        .find(|line| line.starts_with(&first))
        .unwrap_or_else(|| panic!("{name} has no row"))
}

#[test]
fn every_name_has_its_row() {
    let classes = Class::ALL.iter().map(|class| class.as_str());
    for name in classes.chain(Miss::ALL.iter().map(|miss| miss.as_str())) {
        assert!(row(name).len() > name.len() + 20, "{name}");
    }
    for cause in Cause::ALL {
        let remedy = format!("| `{}` |", cause.remedy().as_str());
        let row = row(cause.as_str());
        assert!(cause.by() == By::Proxy || row.ends_with(&remedy), "{row}");
    }
    for kind in ChurnKind::ALL {
        assert!(row(kind.as_str()).contains(kind.remedy()), "{}", kind.as_str());
    }
}
