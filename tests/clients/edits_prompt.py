"""An agent of five turns that edits its system prompt at the third, by the SDK that the first argument names.

It knows nothing of a proxy: where it sends is the SDK's own business, by the variables that the SDK reads.
"""

import sys

RULES = "You are a coding agent for the repository parser. " + "Keep to the rules of the house. " * 300
TURNS = 5


def system(turn):
    return f"{RULES}\n\n## Mode\n{'plan' if turn < 3 else 'act'}"


def by_openai():
    import openai

    client, history = openai.OpenAI(api_key="dummy"), []
    for turn in range(1, TURNS + 1):
        history.append({"role": "user", "content": f"Do step {turn}."})
        messages = [{"role": "system", "content": system(turn)}, *history]
        answer = client.chat.completions.create(model="gpt-5.5", messages=messages)
        history.append({"role": "assistant", "content": answer.choices[0].message.content})


def by_anthropic():
    import anthropic

    client, history = anthropic.Anthropic(api_key="dummy"), []
    for turn in range(1, TURNS + 1):
        history.append({"role": "user", "content": f"Do step {turn}."})
        with client.messages.stream(
            model="claude-opus-5", max_tokens=100, system=system(turn), messages=history
        ) as stream:
            history.append({"role": "assistant", "content": stream.get_final_text()})


{"openai": by_openai, "anthropic": by_anthropic}[sys.argv[1]]()
