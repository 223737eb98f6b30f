"""An agent that keeps facts at the front of its system prompt, and edits one of them before each request."""

import json
import re
import urllib.request
from dataclasses import dataclass

# Long enough for a cold request on two cores under load.
TIMEOUT_SECONDS = 300
ANSWER_TOKENS = 24


@dataclass
class Turn:
    """What came of one request, in the engine's own numbers."""

    edited: str
    prompt: int
    cached: int
    new_fact: bool
    old_fact: bool


def converse(base, model):
    """One conversation with the server at `base`; gives its turns. The first one edits nothing."""
    facts = {name: first for name, (_, _, first, _) in FACTS.items()}
    messages = [{"role": "user", "content": NOTES}]
    turns = [ask(base, model, facts, messages, "", None)]
    for name, (_, question, old, new) in FACTS.items():
        facts[name] = new
        messages.append({"role": "user", "content": question})
        turns.append(ask(base, model, facts, messages, name, old))
    return turns


def ask(base, model, facts, messages, edited, old):
    """Sends the conversation, appends the answer to it, and says what came of it."""
    body = {
        "model": model,
        "messages": [{"role": "system", "content": system_prompt(facts)}, *messages],
        "temperature": 0,
        "max_tokens": ANSWER_TOKENS,
    }
    answer = post(base + "/v1/chat/completions", body)
    text = answer["choices"][0]["message"]["content"]
    messages.append({"role": "assistant", "content": text})
    usage = answer["usage"]
    return Turn(
        edited=edited,
        prompt=usage["prompt_tokens"],
        cached=usage["prompt_tokens_details"]["cached_tokens"],
        new_fact=bool(edited) and says(text, facts[edited]),
        old_fact=bool(edited) and says(text, old),
    )


def says(text, value):
    """Whether a value is in a text, case and marks aside."""
    plain = lambda words: " ".join(re.findall(r"[a-z0-9]+", words.lower()))
    return f" {plain(value)} " in f" {plain(text)} "


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        return json.load(answer)


def system_prompt(facts):
    lines = [sentence.format(facts[name]) for name, (sentence, *_) in FACTS.items()]
    return "\n".join(["You help a small team that looks after the water of an orchard.", *lines, RULES])


# Sentence, question, the value at first, and the value after the edit.
FACTS = {
    "date": ("The current date is {}.", "What is the current date?", "3 March", "17 April"),
    "directory": ("The working directory is {}.", "What is the working directory?", "/srv/orchard", "/srv/valves"),
    "branch": ("The git branch is {}.", "What is the name of the git branch?", "main", "spring"),
    "user": ("The name of the user is {}.", "What is the name of the user?", "Marta", "Oskar"),
    "city": ("The nearest city is {}.", "What is the nearest city?", "Graz", "Turin"),
    "shell": ("The shell is {}.", "Which shell is used?", "bash", "zsh"),
    "system": ("The operating system is {}.", "What is the operating system?", "Debian", "Fedora"),
    "language": ("The programming language is {}.", "What is the programming language?", "Python", "Rust"),
    "editor": ("The editor is {}.", "Which editor is used?", "Emacs", "Vim"),
    "weather": ("The weather is {}.", "What is the weather like?", "sunny", "rainy"),
}

RULES = """\
Answer in one short sentence, from the facts above and from the notes that the team sends, and do not guess others.
The team measures water in litres and pressure in bar. It counts trees and never estimates them.
A field has one valve, a valve has one number, and a number is never used twice, not even after a valve was taken away.
When a gauge shows nothing, say so and name the gauge; do not say that the pressure is low.
Do not open two valves of one line at the same time, and do not advise anybody to do it.
Write times as hours and minutes of the day, and spans of time in minutes.
Before a change of the schedule, repeat the line that changes, and wait until somebody of the team has agreed to it.
After a change of the schedule, write down who agreed, and on which day of the week.
A line that was dry for two days is watered first on the third, in the evening, for half of its time.
Frost comes before the schedule: when it is near, no line is watered, and the tower is drained into the lower pond.
Files of the schedule are kept under version control; a change is one commit with one sentence that says why.
Do not touch the files of the gauges. They are written by the gauges themselves, and read by the water board.
Keep a list of what was left undone, and show it when the user asks for it or says goodbye."""

NOTES = "\n".join(
    ["These are my notes on the lines of the orchard; read them and say that you have read them."]
    + [
        f"Line {line}: {trees} trees in {rows} rows, watered at {hour} in the morning for {minutes} minutes; the valve is at "
        f"the {place}, and the gauge was last cleaned in {month}."
        for line, trees, rows, hour, minutes, place, month in [
            ("one", 80, 4, "five", 20, "stone wall", "January"),
            ("two", 64, 4, "six", 25, "old well", "February"),
            ("three", 96, 6, "four", 15, "north gate", "May"),
            ("four", 50, 5, "five", 30, "tool shed", "March"),
            ("five", 72, 3, "six", 35, "small bridge", "April"),
            ("six", 40, 2, "four", 40, "long hedge", "June"),
        ]
    ]
)
