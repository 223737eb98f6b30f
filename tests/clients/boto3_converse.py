"""boto3, Converse and ConverseStream. usage: boto3_converse.py BASE_URL

With BEARER_TOKEN it sends that, else it signs with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. botocore's own
AWS_BEARER_TOKEN_BEDROCK is for https endpoints only, so the header is added in its last event before a request leaves.
"""

import json
import os

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from conversation import TOOLS, base_url, hold, seen

CACHE_POINT = {"cachePoint": {"type": "default"}}


class Converse:
    def __init__(self):
        token = os.environ.get("BEARER_TOKEN")
        self.client = boto3.client(
            "bedrock-runtime",
            endpoint_url=base_url(),
            region_name="eu-central-1",
            config=Config(retries={"total_max_attempts": 1}, signature_version=UNSIGNED if token else None),
        )
        if token:
            self.client.meta.events.register("before-send.bedrock-runtime", bearer(token))
        self.messages = []

    def say(self, text):
        self.messages.append({"role": "user", "content": [{"text": text}]})

    def give(self, results):
        blocks = [{"toolResult": {"toolUseId": call["id"], "content": [{"text": text}]}} for call, text in results]
        self.messages.append({"role": "user", "content": blocks})

    def ask(self, head, stream):
        *front, last = self.messages
        request = {
            "modelId": "eu.anthropic.claude-opus-4-8-v1:0",
            "system": [{"text": head}, CACHE_POINT],
            "messages": [*front, {**last, "content": [*last["content"], CACHE_POINT]}],
            "toolConfig": {
                "tools": [
                    {
                        "toolSpec": {
                            "name": tool["name"],
                            "description": tool["description"],
                            "inputSchema": {"json": tool["parameters"]},
                        }
                    }
                    for tool in TOOLS
                ]
            },
        }
        if stream:
            blocks, usage = collected(self.client.converse_stream(**request)["stream"])
        else:
            answer = self.client.converse(**request)
            blocks, usage = answer["output"]["message"]["content"], answer["usage"]
        self.messages.append({"role": "assistant", "content": blocks})
        calls = [block["toolUse"] for block in blocks if "toolUse" in block]
        read, written = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
        return seen(
            "".join(block.get("text", "") for block in blocks) or None,
            [{"id": call["toolUseId"], "name": call["name"], "arguments": call["input"]} for call in calls],
            usage["inputTokens"] + read + written,
            read,
            written,
            usage["outputTokens"],
        )


def bearer(token):
    def add(request, **_):
        request.headers["Authorization"] = f"Bearer {token}"

    return add


def collected(events):
    """The blocks and the usage of a stream."""
    blocks, usage = {}, None
    for event in events:
        if start := event.get("contentBlockStart"):
            blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"]["toolUse"], "input": ""}}
        elif delta := event.get("contentBlockDelta"):
            at, delta = delta["contentBlockIndex"], delta["delta"]
            if "text" in delta:
                block = blocks.setdefault(at, {"text": ""})
                block["text"] += delta["text"]
            else:
                blocks[at]["toolUse"]["input"] += delta["toolUse"]["input"]
        elif metadata := event.get("metadata"):
            usage = metadata["usage"]
    blocks = [block for _, block in sorted(blocks.items())]
    for call in [block["toolUse"] for block in blocks if "toolUse" in block]:
        call["input"] = json.loads(call["input"] or "{}")
    return blocks, usage


if __name__ == "__main__":
    hold(Converse())
