//! Each act on conversations at random, in every format that can say it: exactly its name and its place, also behind a
//! new message in front of it.

use inkfast::wire::format::Format;

use super::mutation::{ACTS, Act, Mutated};
use super::received;

const SEEDS: u64 = 8;

/// What an act came out as.
pub struct Found {
    pub format: Format,
    pub expected: &'static str,
    pub cause: &'static str,
    /// What else is wrong with it.
    pub wrong: Option<String>,
}

/// Every act in every format, over some seeds, with and without a new message in front.
pub fn all() -> impl Iterator<Item = Found> {
    ACTS.into_iter().flat_map(of)
}

fn of(act: Act) -> impl Iterator<Item = Found> {
    Format::ALL.into_iter().flat_map(move |format| {
        let tries = (0..SEEDS).flat_map(|seed| [(seed, false), (seed, true)]);
        tries.filter_map(move |(seed, behind)| {
            let mutated = act.done(format, seed, behind)?;
            Some(found(act, format, (seed, behind), &mutated))
        })
    })
}

fn found(act: Act, format: Format, (seed, behind): (u64, bool), mutated: &Mutated) -> Found {
    let [before, after] = &mutated.bodies;
    let verdict = received(format, [before, after], mutated.models);
    let item = verdict.item.as_deref();
    let is_there = match (item, mutated.item.as_deref()) {
        (None, None) => true,
        (Some(item), Some(want)) => is_at(item, want, format),
        _ => false,
    };
    let right = is_there && mutated.classes.contains(&verdict.class.as_str());
    let cause = verdict.cause.as_str();
    let wrong = format!(
        "{act:?} {format} {seed} {behind}: {verdict}, expected {} at {:?}",
        mutated.cause, mutated.item
    );
    Found {
        format,
        expected: mutated.cause,
        cause,
        wrong: (!right || cause != mutated.cause).then_some(wrong),
    }
}

/// Whether an item is the wanted one or a block of it. A message of another format may be several items of Responses.
fn is_at(item: &str, want: &str, format: Format) -> bool {
    let exact = item
        .strip_prefix(want)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']));
    let number = |text: &str| {
        text.strip_prefix("input[")?
            .strip_suffix(']')?
            .parse::<usize>()
            .ok()
    };
    let one_of = number(item)
        .zip(number(want))
        .is_some_and(|(item, want)| (want..want + 3).contains(&item));
    exact || format == Format::OpenaiResponses && one_of
}

macro_rules! acts {
    ($($name:ident: $act:ident in $formats:literal,)*) => {
        $(#[test]
        fn $name() {
            let found: Vec<Found> = of(Act::$act).collect();
            let wrong: Vec<_> = found.iter().filter_map(|found| found.wrong.as_deref()).collect();
            assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), found.len(), wrong.join("\n"));
            let formats = Format::ALL.iter().filter(|format| found.iter().any(|found| found.format == **format));
            assert_eq!(formats.count(), $formats, "formats that say it");
        })*

        #[test]
        fn every_act_has_a_test() {
            assert_eq!([$(Act::$act),*], ACTS);
        }
    };
}

acts! {
    an_answer_and_a_new_question: Nothing in 6,
    another_model: Model in 6,
    another_parameter: Parameter in 6,
    another_routing_key: RoutingKey in 2,
    a_tool_more: AddTool in 6,
    a_tool_less: RemoveTool in 6,
    tools_in_another_order: SwapTools in 6,
    a_tool_that_reads_otherwise: EditTool in 6,
    a_schema_in_another_order: SortSchema in 6,
    a_head_that_reads_otherwise: EditHead in 6,
    a_head_with_a_clock: HeadClock in 6,
    a_head_in_another_order: SwapHead in 6,
    a_head_that_grows: GrowHead in 6,
    a_head_with_more_space: SpaceHead in 6,
    a_message_that_reads_otherwise: Edit in 6,
    the_oldest_gone: DropOldest in 6,
    the_middle_gone: DropMiddle in 6,
    messages_in_another_order: SwapMessages in 6,
    a_result_pruned: Prune in 6,
    reasoning_left_out: DropReasoning in 6,
    calls_under_other_ids: NewIds in 4,
    a_reminder_left_out: DropReminder in 6,
    a_reminder_trimmed: TrimReminder in 6,
    a_clock_in_a_message: Tick in 6,
    a_context_written_anew: Refresh in 6,
    one_message_in_two_parts: Split in 5,
    a_message_between: Insert in 6,
    a_message_with_more_space: Space in 6,
    a_message_of_another_speaker: Respeak in 6,
    arguments_in_another_order: SortArguments in 6,
    a_body_written_otherwise: Pretty in 6,
    an_image_left_out: Unimage in 6,
}
