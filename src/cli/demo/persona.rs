//! What the scripted agent sends apart from the conversation: a system prompt that is written anew for every request, as
//! many agents do, its tools, and what they give back.
//!
//! Lengths are those of a real coding agent: some thousand tokens of rules, twenty tools.

use std::fmt::Write as _;

use super::script::Edit;

/// What the system prompt is written from.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// Since the first request.
    seconds: u64,
    /// Items done; none before there is a list.
    todo: Option<usize>,
    plan: bool,
    memory: Vec<&'static str>,
}

/// One request every so many seconds, so that the clock's minute often changes, and not always.
const SECONDS_A_TURN: u64 = 40;

impl Head {
    /// The head of the next conversation; time goes on.
    pub fn begin_again(&mut self) {
        *self = Self {
            seconds: self.seconds,
            ..Self::default()
        };
    }

    /// The next request: the clock runs on and `edit` is done.
    pub fn next(&mut self, edit: Option<Edit>) {
        self.seconds += SECONDS_A_TURN;
        match edit {
            Some(Edit::Todo(done)) => self.todo = Some(done),
            Some(Edit::Plan(on)) => self.plan = on,
            Some(Edit::Remember(note)) => self.memory.push(note),
            Some(Edit::Forget) => self.memory.clear(),
            None => {}
        }
    }

    /// The prompt in parts: who the agent is, its rules and state, and what it remembers, if anything.
    pub fn parts(&self) -> Vec<String> {
        let mut parts = vec![
            "You are Sepia, a coding agent that works in the user's repository.".to_owned(),
            [self.environment(), rules(), self.mode(), self.todo()].concat(),
        ];
        if !self.memory.is_empty() {
            let notes = self.memory.iter().map(|note| format!("- {note}\n"));
            parts.push(format!("# Memory\n\n{}", notes.collect::<String>()));
        }
        parts.iter().map(|part| part.trim_end().to_owned()).collect()
    }

    fn environment(&self) -> String {
        let minutes = 14 * 60 + 7 + self.seconds / 60;
        let (hour, minute) = (minutes / 60 % 24, minutes % 60);
        format!(
            "# Environment\n\nWorking directory: /home/ada/ledger\nGit branch: fix/import\nCurrent time: 2026-11-30 {hour:02}:{minute:02} UTC\n\n"
        )
    }

    fn mode(&self) -> String {
        match self.plan {
            true => "# Plan mode\n\nPlan mode is on. Do not edit files and do not run commands that change anything: \
                     read, search, and answer with a plan that the user can accept or change.\n\n",
            false => "",
        }
        .to_owned()
    }

    fn todo(&self) -> String {
        let Some(done) = self.todo else {
            return String::new();
        };
        let items = TODO.iter().enumerate().map(|(i, item)| {
            let mark = if i < done { 'x' } else { ' ' };
            format!("- [{mark}] {item}\n")
        });
        format!("# Todo list\n\n{}\n", items.collect::<String>())
    }
}

const TODO: [&str; 5] = [
    "Read dates with a two-digit year",
    "Count skipped rows by reason",
    "Show the counts in the summary",
    "Cover the new dates with tests",
    "Write the commit message",
];

/// The part that never changes, a rule a line.
fn rules() -> String {
    let mut text = String::new();
    for (area, when) in AREAS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# {area}\n");
        for (subject, advice) in RULES {
            let _ = writeln!(text, "- {when} {subject}, {advice}.");
        }
        text.push('\n');
    }
    text
}

const AREAS: [(&str, &str); 9] = [
    ("Reading code", "When you read code and meet"),
    ("Changing code", "When you change code and it touches"),
    ("Tests", "When you write a test that depends on"),
    ("Running commands", "When a command involves"),
    ("Version control", "When a commit contains"),
    ("Answers", "When your answer mentions"),
    ("Reviews", "When a review finds"),
    ("Dependencies", "When a new library brings"),
    ("Documentation", "When a page describes"),
];

const RULES: [(&str, &str); 14] = [
    (
        "a public interface",
        "keep its name and its order of arguments unless the user asked for a change",
    ),
    (
        "an error that is swallowed",
        "say where it goes and who would have to see it",
    ),
    (
        "a value from outside",
        "assume that it is missing, too long, or in the wrong encoding",
    ),
    (
        "a lock or a shared map",
        "name what it guards and how long it is held",
    ),
    (
        "a date, a time or a zone",
        "state which zone it is in and where that was decided",
    ),
    (
        "a number with a unit",
        "put the unit into the name, never into a comment only",
    ),
    (
        "generated files",
        "leave them alone and change what generates them",
    ),
    (
        "a secret or a token",
        "do not repeat it, and tell the user which file holds it",
    ),
    (
        "a path of the file system",
        "use the one that the project uses, with its own separators",
    ),
    (
        "code that nobody calls",
        "mention it at the end and do not remove it unasked",
    ),
    (
        "a retry or a timeout",
        "give the limit and what happens after the last attempt",
    ),
    (
        "text that users read",
        "follow the tone of the strings around it and keep it short",
    ),
    (
        "a loop over a query",
        "look for the batched form before you measure anything",
    ),
    (
        "a workaround",
        "find the issue that it belongs to and keep its number in place",
    ),
];

/// Name, description, and the only required argument of each tool.
pub const TOOLS: [(&str, &str, &str); 20] = [
    ("read_file", "Reads a file of the repository", "path"),
    ("edit_file", "Replaces a passage of a file", "path"),
    ("write_file", "Creates a file or replaces all of it", "path"),
    ("move_file", "Moves or renames a file", "path"),
    ("delete_file", "Deletes a file", "path"),
    ("list_files", "Lists the files of a folder", "folder"),
    ("search_code", "Searches the repository for a pattern", "pattern"),
    ("find_symbol", "Finds where a name is declared", "name"),
    ("find_usages", "Finds where a name is used", "name"),
    ("outline", "Lists the declarations of a file", "path"),
    ("run_command", "Runs a command in the sandbox", "command"),
    ("run_tests", "Runs the tests that match a filter", "filter"),
    ("read_output", "Reads what a running command wrote", "id"),
    ("stop_command", "Stops a running command", "id"),
    ("git_log", "Lists commits that touch a path", "path"),
    ("git_show", "Shows a commit", "commit"),
    ("git_blame", "Shows who last changed each line", "path"),
    ("fetch_page", "Fetches a page as text", "address"),
    ("ask_user", "Asks the user a question", "question"),
    ("write_todo", "Replaces the todo list", "items"),
];

/// A tool's description and the schema of its arguments as JSON.
pub fn tool_text(description: &str, argument: &str) -> (String, String) {
    let long = format!(
        "{description}. Paths are relative to the root of the repository. Output is cut after 2000 lines; ask for the \
         rest with `offset`. Prefer this over a command that does the same, and call it once for each thing that you \
         need to know. Several calls that do not depend on each other belong in one answer."
    );
    let schema = format!(
        r#"{{"type":"object","properties":{{"{argument}":{{"type":"string","description":"What it is about; exactly one"}},"offset":{{"type":"integer","description":"First line of the output, counted from 1"}},"limit":{{"type":"integer","description":"How many lines at most"}}}},"required":["{argument}"],"additionalProperties":false}}"#
    );
    (long, schema)
}

/// What a tool gives back: numbered lines about its argument, the same for the same call.
pub fn tool_result(tool: &str, argument: &str) -> String {
    let seed = argument.bytes().fold(7_u32, |seed, byte| {
        seed.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let mut text = format!("{tool} {argument}\n");
    for line in 1..=60 + seed % 60 {
        let (a, b) = (seed.wrapping_mul(line) % 97, seed.wrapping_add(line * line) % 89);
        let _ = writeln!(
            text,
            "{line:>5}  let row_{a} = batch.take(column_{b})?.or_skip(Reason::At({line}));"
        );
    }
    text
}
