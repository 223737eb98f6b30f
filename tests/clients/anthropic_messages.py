"""The official anthropic SDK in a streaming tool loop with signed thinking that edits its system prompt.

usage: anthropic_messages.py BASE_URL      prints one JSON object: the usage of every request as the SDK saw it
"""

import json
import sys

from anthropic import Anthropic

MODEL = "claude-opus-5-5"
HEAD = "You are a coding agent for the repository parser. " + "Keep to the rules of the house. " * 400
MARKER = {"type": "ephemeral"}
TOOLS = [
    {
        "name": name,
        "description": f"Run {name} in the checkout.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }
    for name in ("read_file", "run_tests")
]
EDITS = ["Todo: 1 open", "Todo: 1 open", "Todo: 1 done, 2 open", "Todo: 1 open", "Todo: none"]


def marked(messages):
    """The messages with the cache marker on the newest user block, as agents move it along."""
    *front, last = messages
    blocks = last["content"]
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    blocks = [*blocks[:-1], {**blocks[-1], "cache_control": MARKER}]
    return [*front, {**last, "content": blocks}]


def usage_of(usage):
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return {"total": usage.input_tokens + read + written, "cached": read, "written": written}


def main(base_url):
    client = Anthropic(base_url=base_url, api_key="sk-ant-test-of-the-suite", max_retries=0)
    messages, seen, counts = [], [], []
    for turn, todo in enumerate(EDITS, 1):
        system = [
            {"type": "text", "text": HEAD},
            {"type": "text", "text": f"## Tasks\n{todo}", "cache_control": MARKER},
        ]
        messages.append({"role": "user", "content": f"[tools:2] Do step {turn}."})
        while True:
            request = {
                "model": MODEL,
                "system": system,
                "messages": marked(messages),
                "tools": TOOLS,
                "thinking": {"type": "adaptive"},
            }
            counts.append(client.messages.count_tokens(**request).input_tokens)
            with client.messages.stream(max_tokens=2048, **request) as stream:
                answer = stream.get_final_message()
            seen.append(usage_of(answer.usage))
            messages.append(
                {"role": "assistant", "content": [b.model_dump(mode="json", exclude_none=True) for b in answer.content]}
            )
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                break
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": f"ok {call.id}"} for call in calls]
            messages.append({"role": "user", "content": results})
    print(json.dumps({"usage": seen, "counted": counts}))


if __name__ == "__main__":
    main(sys.argv[1])
