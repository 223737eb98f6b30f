// The openai SDK, Responses over a WebSocket, one connection for the whole conversation. usage: openai_websocket.cjs BASE_URL
"use strict";

const { ResponsesWS } = require("openai/resources/responses/ws");
const { hold } = require("./conversation.cjs");
const { Responses, whole } = require("./responses.cjs");

class WebSocket extends Responses {
  socket = new ResponsesWS(this.client);

  async response(_stream, request) {
    // There is no other way than a stream here.
    const events = this.events();
    this.socket.send({ type: "response.create", ...request });
    return whole(events);
  }

  async *events() {
    const queue = [];
    let wake = () => {};
    const listen = (event) => (queue.push(event), wake());
    const fail = (error) => listen({ type: "error", message: String(error) });
    this.socket.on("event", listen);
    this.socket.on("error", fail);
    try {
      for (;;) {
        while (queue.length) yield queue.shift();
        await new Promise((resolve) => (wake = resolve));
      }
    } finally {
      this.socket.off("event", listen);
      this.socket.off("error", fail);
    }
  }
}

const client = new WebSocket();
hold(client).finally(() => client.socket.close());
