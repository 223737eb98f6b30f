// @anthropic-ai/sdk, with signed thinking. usage: anthropic_messages.cjs BASE_URL
"use strict";

const { Anthropic } = require("@anthropic-ai/sdk");
const { TOOLS, baseUrl, hold, seen } = require("./conversation.cjs");

const MARKER = { cache_control: { type: "ephemeral" } };

class Messages {
  client = new Anthropic({ baseURL: baseUrl(), apiKey: "sk-ant-test-of-the-suite", maxRetries: 0 });
  messages = [];

  say(text) {
    this.messages.push({ role: "user", content: [{ type: "text", text }] });
  }

  give(results) {
    const blocks = results.map(([call, text]) => ({ type: "tool_result", tool_use_id: call.id, content: text }));
    this.messages.push({ role: "user", content: blocks });
  }

  async ask(head, stream) {
    const request = {
      model: "claude-opus-5-5",
      max_tokens: 2048,
      system: [{ type: "text", text: head, ...MARKER }],
      messages: marked(this.messages),
      tools: TOOLS.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
      thinking: { type: "adaptive" },
    };
    const answer = stream
      ? await this.client.messages.stream(request).finalMessage()
      : await this.client.messages.create(request);
    this.messages.push({ role: "assistant", content: answer.content });
    const of = (type) => answer.content.filter((block) => block.type === type);
    const joined = (type) => of(type).map((block) => block[type]).join("");
    const calls = of("tool_use").map((block) => ({ id: block.id, name: block.name, arguments: block.input }));
    const { input_tokens, cache_read_input_tokens: cached, cache_creation_input_tokens: written } = answer.usage;
    const usage = { total: input_tokens + cached + written, cached, written, output: answer.usage.output_tokens };
    return seen(joined("text"), calls, usage, joined("thinking"));
  }
}

// The messages with the cache marker on the newest block, as agents move it along.
function marked(messages) {
  const last = messages.at(-1);
  const content = [...last.content.slice(0, -1), { ...last.content.at(-1), ...MARKER }];
  return [...messages.slice(0, -1), { ...last, content }];
}

hold(new Messages());
