"""The openai SDK, Responses over HTTP. usage: openai_responses.py BASE_URL"""

import json

from conversation import TOOLS, base_url, hold, seen
from openai import OpenAI


class Responses:
    def __init__(self):
        self.client = OpenAI(base_url=f"{base_url()}/v1", api_key="sk-test-of-the-suite", max_retries=0)
        self.input = []

    def say(self, text):
        self.input.append({"role": "user", "content": text})

    def give(self, results):
        for call, text in results:
            self.input.append({"type": "function_call_output", "call_id": call["id"], "output": text})

    def ask(self, head, stream):
        response = self.response(
            stream,
            model="gpt-5.6",
            instructions=head,
            input=self.input,
            tools=[{"type": "function", "strict": False, **tool} for tool in TOOLS],
            store=False,
            include=["reasoning.encrypted_content"],
        )
        self.input += [item.model_dump(exclude_none=True, mode="json") for item in response.output]
        calls = [
            {"id": item.call_id, "name": item.name, "arguments": json.loads(item.arguments)}
            for item in response.output
            if item.type == "function_call"
        ]
        reasoning = [part.text for item in response.output if item.type == "reasoning" for part in item.summary]
        usage, details = response.usage, response.usage.input_tokens_details
        numbers = usage.input_tokens, details.cached_tokens, details.cache_write_tokens, usage.output_tokens
        return seen(response.output_text, calls, *numbers, "".join(reasoning) or None)

    def response(self, stream, **request):
        if not stream:
            return self.client.responses.create(**request)
        with self.client.responses.create(**request, stream=True) as events:
            return whole(events)


def whole(events):
    """The response at the end of a stream, if the text that came before is the same."""
    text = ""
    for event in events:
        if event.type == "response.output_text.delta":
            text += event.delta
        elif event.type in ("response.completed", "response.failed", "error"):
            assert event.type == "response.completed", event
            assert event.response.output_text == text, (event.response.output_text, text)
            return event.response
    raise AssertionError("the stream ended without a response")


if __name__ == "__main__":
    hold(Responses())
