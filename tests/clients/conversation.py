"""The conversation that every client in this folder holds; what differs between them is how an SDK asks.

Five turns of two rounds of tool calls each. The system prompt is edited between turns: same, changed, changed back, changed.
Every second request streams. What the client saw of each answer is printed as one JSON object on standard output.
"""

import json
import sys

HEAD = "You are a coding agent for the repository parser. " + "Keep to the rules of the house. " * 700
TASKS = ["1 open", "1 open", "1 done, 2 open", "1 open", "none"]
TOOLS = [
    {
        "name": name,
        "description": f"Run {name} in the checkout.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }
    for name in ("read_file", "run_tests")
]


def head(tasks):
    return f"{HEAD}\n\n## Tasks\n{tasks}"


def hold(client):
    """Holds the conversation with a client that has `say(text)`, `give(results)` and `ask(head, stream)`.

    `ask` appends the answer to its history and returns `seen(...)`; `give` takes (call, text) of each call in it.
    """
    answers = []
    for turn, tasks in enumerate(TASKS, 1):
        client.say(f"[tools:2] Do step {turn}.")
        while True:
            answers.append(client.ask(head(tasks), stream=len(answers) % 2 == 0))
            calls = answers[-1]["calls"]
            if not calls:
                break
            client.give([(call, f"The result of {call['name']}.") for call in calls])
    print(json.dumps({"answers": answers}))


def seen(text, calls, total, cached, written, output, thinking=None):
    """What an SDK showed of one answer. `calls` are {id, name, arguments}; None is a number that it did not show."""
    usage = {"total": total, "cached": cached, "written": written, "output": output}
    return {"text": text or None, "calls": calls, "usage": usage, "thinking": thinking or None}


def base_url():
    return sys.argv[1]
