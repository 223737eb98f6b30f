"""The anthropic SDK's Vertex client. usage: anthropic_vertex.py BASE_URL"""

from anthropic import AnthropicVertex
from anthropic_messages import Messages
from conversation import base_url, hold

if __name__ == "__main__":
    client = AnthropicVertex(
        base_url=f"{base_url()}/v1",
        region="europe-west1",
        project_id="test-of-the-suite",
        access_token="ya29.test-of-the-suite",
        max_retries=0,
    )
    hold(Messages(client, "claude-opus-5-5", counts=True))
