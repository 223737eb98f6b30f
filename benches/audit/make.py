#!/usr/bin/env python3
"""Writes a recording of many conversations that run side by side, as `inkfast serve --record` would have.

usage: benches/audit/make.py FILE [MEBIBYTES [CONVERSATIONS]]

The same arguments give the same file. Most requests append; some conversations edit their head, reorder their tools, branch,
prune a result or ask for a title on the side.
"""

import json
import random
import sys

WORDS = (
    "the parser reads a line and keeps what stands before it so that nothing is lost when a test fails again in the "
    "build of this module which has two files one of them old with a note on how errors travel from reader to caller "
    "while memory stays bounded because every buffer has a limit that the configuration names in bytes"
).split()
START_MS = 1_790_000_000_000


class Conversation:
    def __init__(self, number, random_numbers):
        self.number, self.random = number, random_numbers
        self.anthropic = number % 2 == 0
        self.head = f"You work on repository {number}. " + self.text(3000)
        self.tools = [self.tool(name) for name in ("read_file", "write_file", "shell", "search", "todo", "fetch")]
        self.history, self.turn, self.cached = [], 0, 0

    def text(self, size):
        words, length = [], 0
        while length < size:
            word = self.random.choice(WORDS)
            words.append(word)
            length += len(word) + 1
        return " ".join(words)

    def tool(self, name):
        schema = {"type": "object", "properties": {"path": {"type": "string", "description": self.text(80)}}}
        if self.anthropic:
            return {"name": name, "description": self.text(300), "input_schema": schema}
        return {"type": "function", "function": {"name": name, "description": self.text(300), "parameters": schema}}

    def line(self, at_ms):
        """The next exchange."""
        self.turn += 1
        chance = self.random.random()
        if chance < 0.02:
            self.head += " Task done: " + self.text(60)
            self.cached = 0
        elif chance < 0.03:
            self.random.shuffle(self.tools)
            self.cached = 0
        elif chance < 0.04 and len(self.history) > 4:
            del self.history[-2:]
        side = chance > 0.98
        question = {"role": "user", "content": self.text(self.random.choice([80, 200, 900]))}
        history = [{"role": "user", "content": "Give a title: " + self.text(100)}] if side else self.history + [question]
        said = self.text(self.random.choice([200, 600, 1500]))
        body, answer, path, host, upstream = self.exchange(history, said, side)
        if not side:
            self.history = history + [{"role": "assistant", "content": said}]
        line = {
            "inkfast_recording": 1,
            "at_ms": at_ms,
            "upstream": upstream,
            "host": host,
            "format": "anthropic_messages" if self.anthropic else "openai_chat",
            "method": "POST",
            "path": path,
            "headers": {"content-type": "application/json", "x-session-id": f"s{self.number}"},
            "body": dumps(body),
            "status": 200,
            "ended_ms": at_ms + 900,
            "answer_headers": {"content-type": "text/event-stream" if self.anthropic else "application/json"},
            "answer": answer,
        }
        return dumps(line)

    def exchange(self, history, said, side):
        total = (len(self.head) + sum(len(one["content"]) for one in history)) // 4 + 900
        read, self.cached = min(self.cached, total), (self.cached if side else total)
        head = "Answer with a title." if side else self.head
        if self.anthropic:
            body = {"model": "claude-opus-5-5", "max_tokens": 4096, "stream": True, "system": [{"type": "text", "text": head, "cache_control": {"type": "ephemeral"}}], "messages": history}
            if not side:
                body["tools"] = self.tools
            usage = {"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": total - read, "output_tokens": 0}
            events = [
                ("message_start", {"message": {"id": f"msg_{self.number}_{self.turn}", "role": "assistant", "content": [], "usage": usage}}),
                ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
                ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": said}}),
                ("content_block_stop", {"index": 0}),
                ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 90}}),
                ("message_stop", {}),
            ]
            answer = "".join(f"event: {kind}\ndata: {dumps({'type': kind, **rest})}\n\n" for kind, rest in events)
            return body, answer, "/v1/messages", "api.anthropic.com", "anthropic"
        body = {"model": "gpt-5.5", "messages": [{"role": "system", "content": head}, *history]}
        if not side:
            body["tools"] = self.tools
        usage = {"prompt_tokens": total, "completion_tokens": 90, "prompt_tokens_details": {"cached_tokens": read // 128 * 128}}
        message = {"role": "assistant", "content": said}
        answer = dumps({"id": f"c{self.number}-{self.turn}", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})
        return body, answer, "/v1/chat/completions", "api.openai.com", "openai"


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main(path, mebibytes=1024, conversations=2000):
    wanted, size, at_ms = int(mebibytes) << 20, 0, START_MS
    numbers = random.Random(17)
    all_ = [Conversation(number, numbers) for number in range(int(conversations))]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        while size < wanted:
            numbers.shuffle(all_)
            for one in all_:
                at_ms += 40
                line = one.line(at_ms)
                size += len(line.encode()) + 1
                file.write(line + "\n")
                if size >= wanted:
                    break


if __name__ == "__main__":
    main(*sys.argv[1:])
