"""The mistralai SDK. usage: mistral_chat.py BASE_URL"""

import json

from conversation import TOOLS, base_url, hold, seen
from mistralai.client import Mistral


class Chat:
    def __init__(self):
        self.client = Mistral(api_key="test-of-the-suite", server_url=base_url())
        self.messages = []

    def say(self, text):
        self.messages.append({"role": "user", "content": text})

    def give(self, results):
        for call, text in results:
            message = {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": text}
            self.messages.append(message)

    def ask(self, head, stream):
        request = {
            "model": "mistral-large-latest",
            "messages": [{"role": "system", "content": head}, *self.messages],
            "tools": [{"type": "function", "function": tool} for tool in TOOLS],
        }
        if stream:
            with self.client.chat.stream(**request) as events:
                chunks = [event.data for event in events]
            deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
            usage = next(chunk.usage for chunk in reversed(chunks) if chunk.usage)
        else:
            answer = self.client.chat.complete(**request)
            deltas, usage = [answer.choices[0].message], answer.usage
        text = "".join(delta.content for delta in deltas if isinstance(delta.content, str)) or None
        # A call is whole, in a stream too.
        calls = [
            {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
            for delta in deltas
            for call in delta.tool_calls or []
        ]
        message = {"role": "assistant", "content": text or ""}
        if calls:
            message["tool_calls"] = [
                {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}} for call in calls
            ]
        self.messages.append(message)
        calls = [{**call, "arguments": json.loads(call["arguments"])} for call in calls]
        # Not among the fields that the SDK types.
        cached = usage.additional_properties["prompt_tokens_details"]["cached_tokens"]
        return seen(text, calls, usage.prompt_tokens, cached, None, usage.completion_tokens)


if __name__ == "__main__":
    hold(Chat())
