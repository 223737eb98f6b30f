"""The openai and the anthropic SDK in a conversation that is recorded on the way: five turns, the system prompt edited before
the third, the tools in another order from the fourth on. usage: recorded.py BASE_URL"""

import anthropic_messages
import conversation
import openai_chat
from anthropic import Anthropic

HEAD = "You help with the repository “parser”. Keep to the style of the files around. Say what you did.\n\n## Tasks\n"
REORDERED = conversation.TOOLS[::-1]


def hold(client, module):
    turns = [("1 open", conversation.TOOLS)] * 2 + [("1 done", conversation.TOOLS)] + [("1 done", REORDERED)] * 2
    for turn, (tasks, tools) in enumerate(turns, 1):
        module.TOOLS = tools
        client.say(f"Do step {turn}: “größe” \\ 漢字.")
        client.ask(HEAD + tasks, stream=turn % 2 == 0)


if __name__ == "__main__":
    hold(openai_chat.Chat(), openai_chat)
    client = Anthropic(base_url=conversation.base_url(), api_key="sk-ant-test-of-the-suite", max_retries=0)
    hold(anthropic_messages.Messages(client, "claude-opus-5-5"), anthropic_messages)
