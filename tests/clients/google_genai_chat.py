"""The google-genai SDK's chat, which keeps the history itself. usage: google_genai_chat.py BASE_URL"""

from conversation import hold
from google.genai import types
from google_genai import MODEL, client, config, shown


class Chat:
    def __init__(self):
        # A client that nobody holds is closed.
        self.client = client()
        self.chat = self.client.chats.create(model=MODEL)
        self.message = None

    def say(self, text):
        self.message = text

    def give(self, results):
        self.message = [
            types.Part(function_response=types.FunctionResponse(name=call["name"], id=call["id"], response={"output": text}))
            for call, text in results
        ]

    def ask(self, head, stream):
        if stream:
            return shown(list(self.chat.send_message_stream(self.message, config=config(head))))
        return shown([self.chat.send_message(self.message, config=config(head))])


if __name__ == "__main__":
    hold(Chat())
