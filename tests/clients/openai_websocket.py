"""The openai SDK, Responses over a WebSocket, one connection for the whole conversation. usage: openai_websocket.py BASE_URL"""

from conversation import hold
from openai_responses import Responses, whole


class WebSocket(Responses):
    def __init__(self, connection):
        super().__init__()
        self.connection = connection

    def response(self, stream, **request):
        # There is no other way than a stream here.
        self.connection.response.create(**request)
        return whole(self.connection)


if __name__ == "__main__":
    with Responses().client.responses.connect() as connection:
        hold(WebSocket(connection))
