"""The ollama SDK. usage: ollama_chat.py BASE_URL"""

from conversation import TOOLS, base_url, hold, seen
from ollama import Client


class Ollama:
    def __init__(self):
        self.client = Client(host=base_url())
        self.messages = []

    def say(self, text):
        self.messages.append({"role": "user", "content": text})

    def give(self, results):
        for call, text in results:
            self.messages.append({"role": "tool", "tool_name": call["name"], "content": text})

    def ask(self, head, stream):
        request = {
            "model": "qwen3:8b",
            "messages": [{"role": "system", "content": head}, *self.messages],
            "tools": [{"type": "function", "function": tool} for tool in TOOLS],
        }
        answer = self.client.chat(**request, stream=stream)
        pieces = list(answer) if stream else [answer]
        text = "".join(piece.message.content or "" for piece in pieces) or None
        calls = [call for piece in pieces for call in piece.message.tool_calls or []]
        message = {"role": "assistant", "content": text or ""}
        if calls:
            message["tool_calls"] = [call.model_dump(exclude_none=True) for call in calls]
        self.messages.append(message)
        last = pieces[-1]
        return seen(
            text,
            [{"id": None, "name": call.function.name, "arguments": dict(call.function.arguments)} for call in calls],
            last.prompt_eval_count,
            None,
            None,
            last.eval_count,
        )


if __name__ == "__main__":
    hold(Ollama())
