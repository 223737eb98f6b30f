"""The openai SDK, Chat Completions. usage: openai_chat.py BASE_URL"""

import json

from conversation import TOOLS, base_url, hold, seen
from openai import OpenAI


class Chat:
    def __init__(self):
        self.client = OpenAI(base_url=f"{base_url()}/v1", api_key="sk-test-of-the-suite", max_retries=0)
        self.messages = []

    def say(self, text):
        self.messages.append({"role": "user", "content": text})

    def give(self, results):
        for call, text in results:
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

    def ask(self, head, stream):
        request = {
            "model": "gpt-5.6",
            "messages": [{"role": "system", "content": head}, *self.messages],
            "tools": [{"type": "function", "function": tool} for tool in TOOLS],
        }
        if stream:
            with self.client.chat.completions.stream(**request, stream_options={"include_usage": True}) as events:
                completion = events.get_final_completion()
        else:
            completion = self.client.chat.completions.create(**request)
        message = completion.choices[0].message
        self.messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}, mode="json"))
        calls = [
            {"id": call.id, "name": call.function.name, "arguments": json.loads(call.function.arguments)}
            for call in message.tool_calls or []
        ]
        usage, details = completion.usage, completion.usage.prompt_tokens_details
        written = details.cache_write_tokens
        return seen(message.content, calls, usage.prompt_tokens, details.cached_tokens, written, usage.completion_tokens)


if __name__ == "__main__":
    hold(Chat())
