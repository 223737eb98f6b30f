// The Responses API in the openai SDK, whatever carries it.
"use strict";

const { OpenAI } = require("openai");
const { TOOLS, baseUrl, seen } = require("./conversation.cjs");

class Responses {
  client = new OpenAI({ baseURL: `${baseUrl()}/v1`, apiKey: "sk-test-of-the-suite", maxRetries: 0 });
  input = [];

  say(text) {
    this.input.push({ role: "user", content: text });
  }

  give(results) {
    for (const [call, text] of results) {
      this.input.push({ type: "function_call_output", call_id: call.id, output: text });
    }
  }

  async ask(head, stream) {
    const response = await this.response(stream, {
      model: "gpt-5.6",
      instructions: head,
      input: this.input,
      tools: TOOLS.map((tool) => ({ type: "function", strict: false, ...tool })),
      store: false,
      include: ["reasoning.encrypted_content"],
    });
    this.input.push(...response.output.map(({ parsed_arguments, ...item }) => item));
    const of = (type) => response.output.filter((item) => item.type === type);
    const calls = of("function_call").map((item) => ({
      id: item.call_id,
      name: item.name,
      arguments: JSON.parse(item.arguments),
    }));
    const parts = (type, key) => of(type).flatMap((item) => item[key] ?? []);
    const joined = (parts) => parts.map((part) => part.text).join("");
    const { input_tokens: total, output_tokens: output, input_tokens_details: details } = response.usage;
    const usage = { total, cached: details.cached_tokens, written: details.cache_write_tokens, output };
    return seen(joined(parts("message", "content")), calls, usage, joined(parts("reasoning", "summary")));
  }

  async response(stream, request) {
    if (!stream) return this.client.responses.create(request);
    return whole(await this.client.responses.create({ ...request, stream: true }));
  }
}

// The response at the end of a stream, if the text that came before is the same.
async function whole(events) {
  let text = "";
  for await (const event of events) {
    if (event.type === "response.output_text.delta") text += event.delta;
    if (event.type === "response.failed" || event.type === "error") throw new Error(JSON.stringify(event));
    if (event.type === "response.completed") {
      const messages = event.response.output.filter((item) => item.type === "message");
      const told = messages.flatMap((item) => item.content.map((part) => part.text)).join("");
      if (told !== text) throw new Error(`${JSON.stringify(told)} after ${JSON.stringify(text)}`);
      return event.response;
    }
  }
  throw new Error("the stream ended without a response");
}

module.exports = { Responses, whole };
