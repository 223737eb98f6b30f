"""The anthropic SDK, with signed thinking. usage: anthropic_messages.py BASE_URL"""

from anthropic import Anthropic
from conversation import TOOLS, base_url, hold, seen

MARKER = {"type": "ephemeral"}


class Messages:
    def __init__(self, client, model, counts=False):
        """`counts`: each prompt is counted before it is sent, where the platform can."""
        self.client, self.model, self.counts = client, model, counts
        self.messages = []

    def say(self, text):
        self.messages.append({"role": "user", "content": text})

    def give(self, results):
        blocks = [{"type": "tool_result", "tool_use_id": call["id"], "content": text} for call, text in results]
        self.messages.append({"role": "user", "content": blocks})

    def ask(self, head, stream):
        request = {
            "model": self.model,
            "system": [{"type": "text", "text": head, "cache_control": MARKER}],
            "messages": marked(self.messages),
            "tools": [
                {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
                for tool in TOOLS
            ],
            "thinking": {"type": "adaptive"},
        }
        counted = self.client.messages.count_tokens(**request).input_tokens if self.counts else None
        request["max_tokens"] = 2048
        if stream:
            with self.client.messages.stream(**request) as events:
                answer = events.get_final_message()
        else:
            answer = self.client.messages.create(**request)
        blocks = [block.model_dump(mode="json", exclude_none=True) for block in answer.content]
        self.messages.append({"role": "assistant", "content": blocks})
        usage = answer.usage
        read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        shown = seen(
            joined(answer, "text"),
            [
                {"id": block.id, "name": block.name, "arguments": block.input}
                for block in answer.content
                if block.type == "tool_use"
            ],
            usage.input_tokens + read + written,
            read,
            written,
            usage.output_tokens,
            joined(answer, "thinking"),
        )
        return {**shown, "counted": counted}


def joined(answer, kind):
    return "".join(getattr(block, kind) for block in answer.content if block.type == kind) or None


def marked(messages):
    """The messages with the cache marker on the newest user block, as agents move it along."""
    *front, last = messages
    blocks = last["content"]
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    blocks = [*blocks[:-1], {**blocks[-1], "cache_control": MARKER}]
    return [*front, {**last, "content": blocks}]


if __name__ == "__main__":
    client = Anthropic(base_url=base_url(), api_key="sk-ant-test-of-the-suite", max_retries=0)
    hold(Messages(client, "claude-opus-5-5", counts=True))
