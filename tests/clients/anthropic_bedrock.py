"""The anthropic SDK's Bedrock client. usage: anthropic_bedrock.py BASE_URL MODEL

With AWS_BEARER_TOKEN_BEDROCK it sends that, else it signs with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
"""

import sys

from anthropic import AnthropicBedrock
from anthropic_messages import Messages
from conversation import base_url, hold

if __name__ == "__main__":
    client = AnthropicBedrock(base_url=base_url(), aws_region="eu-central-1", max_retries=0)
    hold(Messages(client, sys.argv[2]))
