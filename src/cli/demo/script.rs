//! What happens in the demo, turn by turn, as data.

/// One request of the agent and the answer to it.
#[derive(Debug)]
pub struct Turn {
    /// What happens, for the table.
    pub what: &'static str,
    /// What the agent changes in its system prompt before it; the clock runs by itself.
    pub edit: Option<Edit>,
    /// What comes before the turn, besides.
    pub event: Event,
    /// What the request adds to the conversation.
    pub input: Input,
    /// What the model answers.
    pub answer: Reply,
}

/// A change of the system prompt.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    /// The todo list shows this many done.
    Todo(usize),
    /// Plan mode.
    Plan(bool),
    /// A note at the end.
    Remember(&'static str),
    /// The notes go.
    Forget,
}

/// Something that is not the agent's doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    None,
    /// The provider is overloaded once, and the agent tries the same request again.
    Overloaded,
    /// Inkfast stops and starts again.
    Restart,
}

/// What a request adds.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// The user starts a conversation.
    First(&'static str),
    /// The user says this.
    Ask(&'static str),
    /// What the tools that were called gave back.
    Results,
    /// The last answer is thrown away and asked for again.
    Regenerate,
    /// The user goes back before the last so many of their messages and says this.
    Back(usize, &'static str),
}

/// What the model answers.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// A text.
    Text(&'static str),
    /// Calls of tools, each with its only argument.
    Calls(&'static [Call]),
}

/// A call: tool, the name of its argument, the argument.
pub type Call = (&'static str, &'static str, &'static str);

/// The turns of one conversation.
pub const SCRIPT: &[Turn] = &[
    turn(
        "first request",
        Input::First("The nightly import drops rows without a word. Find out where."),
        Reply::Calls(&[("search_code", "pattern", "skip_row")]),
    ),
    turn(
        "tool result",
        Input::Results,
        Reply::Calls(&[
            ("read_file", "path", "src/import/reader.rs"),
            ("read_file", "path", "src/import/batch.rs"),
        ]),
    ),
    turn(
        "two tool results",
        Input::Results,
        Reply::Text("The reader skips a row when its date cannot be parsed, and nothing counts it."),
    ),
    turn(
        "user; todo list appears",
        Input::Ask("Make a list of what has to be done, then start with the first item."),
        Reply::Calls(&[("read_file", "path", "src/import/date.rs")]),
    )
    .edit(Edit::Todo(0)),
    turn(
        "tool result; one item done",
        Input::Results,
        Reply::Calls(&[("edit_file", "path", "src/import/date.rs")]),
    )
    .edit(Edit::Todo(1)),
    turn(
        "tool result",
        Input::Results,
        Reply::Text("Dates with a two-digit year are read now; the first item is done."),
    ),
    turn(
        "user; plan mode on",
        Input::Ask("Before you go on, plan how skipped rows should be reported."),
        Reply::Text(
            "I would add a counter by reason, a line in the summary, and a file with the skipped rows.",
        ),
    )
    .edit(Edit::Plan(true)),
    turn(
        "user; plan mode off again",
        Input::Ask("Good. Do the counter and the summary, leave the file."),
        Reply::Calls(&[("read_file", "path", "src/import/summary.rs")]),
    )
    .edit(Edit::Plan(false)),
    turn(
        "tool result; two items done",
        Input::Results,
        Reply::Calls(&[
            ("edit_file", "path", "src/import/summary.rs"),
            ("run_tests", "filter", "import"),
        ]),
    )
    .edit(Edit::Todo(2)),
    turn(
        "two tool results",
        Input::Results,
        Reply::Text("The summary lists skipped rows by reason. All tests of the import pass."),
    ),
    turn(
        "regenerate the last answer",
        Input::Regenerate,
        Reply::Text("Skipped rows are counted by reason and shown in the summary; 41 tests pass."),
    ),
    turn(
        "user; 529, tried again",
        Input::Ask("Is there anything else that reads these dates?"),
        Reply::Calls(&[("search_code", "pattern", "parse_date")]),
    )
    .edit(Edit::Todo(3))
    .event(Event::Overloaded),
    turn(
        "tool result",
        Input::Results,
        Reply::Text("Two more places: the export and the ledger report. Both have their own parser."),
    ),
    turn(
        "Inkfast restarts; user; memory",
        Input::Ask("Remember that dates are always UTC here, then move both to the new parser."),
        Reply::Calls(&[("read_file", "path", "src/export/rows.rs")]),
    )
    .edit(Edit::Remember("Dates are always UTC in this project."))
    .event(Event::Restart),
    turn(
        "tool result",
        Input::Results,
        Reply::Calls(&[("edit_file", "path", "src/export/rows.rs")]),
    ),
    turn(
        "tool result",
        Input::Results,
        Reply::Text("The export uses the new parser. The report is next."),
    ),
    turn(
        "back two user messages",
        Input::Back(
            2,
            "Leave the other readers alone. Write a test for the two-digit years instead.",
        ),
        Reply::Calls(&[("read_file", "path", "tests/import.rs")]),
    ),
    turn(
        "tool result; four items done",
        Input::Results,
        Reply::Calls(&[
            ("edit_file", "path", "tests/import.rs"),
            ("run_tests", "filter", "dates"),
        ]),
    )
    .edit(Edit::Todo(4)),
    turn(
        "two tool results",
        Input::Results,
        Reply::Text("There are six new tests, for the years 68 to 70 on both sides. They pass."),
    ),
    turn(
        "user; memory removed",
        Input::Ask("Forget what I said about UTC, the report has local dates. Which zone does it use?"),
        Reply::Calls(&[("read_file", "path", "src/report/zone.rs")]),
    )
    .edit(Edit::Forget),
    turn(
        "Inkfast restarts; tool result",
        Input::Results,
        Reply::Text("It takes the zone of the customer's account, and UTC where none is set."),
    )
    .event(Event::Restart),
    turn(
        "user; all done",
        Input::Ask("Then we are done. Summarise the change for the commit message."),
        Reply::Text("Import: read two-digit years, and count skipped rows by reason in the summary."),
    )
    .edit(Edit::Todo(5)),
];

const fn turn(what: &'static str, input: Input, answer: Reply) -> Turn {
    Turn {
        what,
        edit: None,
        event: Event::None,
        input,
        answer,
    }
}

impl Turn {
    const fn edit(mut self, edit: Edit) -> Self {
        self.edit = Some(edit);
        self
    }

    const fn event(mut self, event: Event) -> Self {
        self.event = event;
        self
    }
}
