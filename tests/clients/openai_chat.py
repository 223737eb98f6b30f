"""The official openai SDK in a streaming tool loop that edits its system prompt.

usage: openai_chat.py BASE_URL      prints one JSON object: the usage of every request as the SDK saw it
"""

import json
import sys

from openai import OpenAI

HEAD = "You are a coding agent for the repository parser. " + "Keep to the rules of the house. " * 400
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Run {name} in the checkout.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
    for name in ("read_file", "run_tests")
]
EDITS = ["Todo: 1 open", "Todo: 1 open", "Todo: 1 done, 2 open", "Todo: 1 open", "Todo: none"]


def ask(client, messages, seen):
    """Streams one answer and appends it; gives its tool calls."""
    text, calls = "", {}
    stream = client.chat.completions.create(
        model="gpt-5.5", messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        if chunk.usage:
            details = chunk.usage.prompt_tokens_details
            seen.append({"total": chunk.usage.prompt_tokens, "cached": details.cached_tokens})
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                known = calls.setdefault(call.index, {"id": "", "name": "", "arguments": ""})
                known["id"] += call.id or ""
                known["name"] += call.function.name or ""
                known["arguments"] += call.function.arguments or ""
    message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in calls.values()
        ]
    messages.append(message)
    return message.get("tool_calls", [])


def main(base_url):
    client = OpenAI(base_url=base_url, api_key="sk-test-of-the-suite", max_retries=0)
    history, seen = [], []
    for turn, todo in enumerate(EDITS, 1):
        head = {"role": "system", "content": f"{HEAD}\n\n## Tasks\n{todo}"}
        history.append({"role": "user", "content": f"[tools:2] Do step {turn}."})
        messages = [head, *history]
        while calls := ask(client, messages, seen):
            for call in calls:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"ok {call['id']}"})
        history = messages[1:]
    head = {"role": "system", "content": f"{HEAD}\n\n## Tasks\nnone at all"}
    history.append({"role": "user", "content": "Sum up."})
    answer = client.chat.completions.create(model="gpt-5.5", messages=[head, *history], tools=TOOLS)
    details = answer.usage.prompt_tokens_details
    seen.append({"total": answer.usage.prompt_tokens, "cached": details.cached_tokens})
    print(json.dumps({"usage": seen}))


if __name__ == "__main__":
    main(sys.argv[1])
