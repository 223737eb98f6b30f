"""The google-genai SDK, Gemini. usage: google_genai.py BASE_URL"""

from conversation import TOOLS, base_url, hold, seen
from google import genai
from google.genai import types

MODEL = "gemini-3.5-pro"


class Models:
    def __init__(self):
        self.client = client()
        self.contents = []

    def say(self, text):
        self.contents.append(types.Content(role="user", parts=[types.Part(text=text)]))

    def give(self, results):
        parts = [
            types.Part(function_response=types.FunctionResponse(name=call["name"], id=call["id"], response={"output": text}))
            for call, text in results
        ]
        self.contents.append(types.Content(role="user", parts=parts))

    def ask(self, head, stream):
        models, request = self.client.models, {"model": MODEL, "contents": self.contents, "config": config(head)}
        answers = list(models.generate_content_stream(**request)) if stream else [models.generate_content(**request)]
        self.contents.append(types.Content(role="model", parts=merged(parts_of(answers))))
        return shown(answers)


def client():
    options = types.HttpOptions(base_url=base_url(), retry_options=types.HttpRetryOptions(attempts=1))
    return genai.Client(api_key="test-of-the-suite", vertexai=False, http_options=options)


def config(head):
    declarations = [
        types.FunctionDeclaration(
            name=tool["name"], description=tool["description"], parameters_json_schema=tool["parameters"]
        )
        for tool in TOOLS
    ]
    return types.GenerateContentConfig(
        system_instruction=head,
        tools=[types.Tool(function_declarations=declarations)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )


def shown(answers):
    """What an answer, or the pieces of one, showed."""
    parts = parts_of(answers)
    usage = next(answer.usage_metadata for answer in reversed(answers) if answer.usage_metadata)
    return seen(
        "".join(part.text for part in parts if part.text and not part.thought),
        [
            {"id": part.function_call.id, "name": part.function_call.name, "arguments": part.function_call.args}
            for part in parts
            if part.function_call
        ],
        usage.prompt_token_count,
        usage.cached_content_token_count,
        None,
        (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
        "".join(part.text for part in parts if part.text and part.thought),
    )


def parts_of(answers):
    contents = [answer.candidates[0].content for answer in answers if answer.candidates]
    return [part for content in contents if content for part in content.parts or []]


def merged(parts):
    """Pieces of one text joined; a signature closes its part."""
    out = []
    for part in parts:
        before = out[-1] if out else None
        joins = before and before.text and part.text and before.thought == part.thought and not before.thought_signature
        if joins:
            signature = part.thought_signature
            out[-1] = before.model_copy(update={"text": before.text + part.text, "thought_signature": signature})
        else:
            out.append(part)
    return out


if __name__ == "__main__":
    hold(Models())
