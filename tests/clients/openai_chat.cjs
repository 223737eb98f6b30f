// The openai SDK, Chat Completions. usage: openai_chat.cjs BASE_URL
"use strict";

const { OpenAI } = require("openai");
const { TOOLS, baseUrl, hold, seen } = require("./conversation.cjs");

class Chat {
  client = new OpenAI({ baseURL: `${baseUrl()}/v1`, apiKey: "sk-test-of-the-suite", maxRetries: 0 });
  messages = [];

  say(text) {
    this.messages.push({ role: "user", content: text });
  }

  give(results) {
    for (const [call, text] of results) {
      this.messages.push({ role: "tool", tool_call_id: call.id, content: text });
    }
  }

  async ask(head, stream) {
    const request = {
      model: "gpt-5.6",
      messages: [{ role: "system", content: head }, ...this.messages],
      tools: TOOLS.map((tool) => ({ type: "function", function: tool })),
    };
    const completion = stream
      ? await this.client.chat.completions.stream({ ...request, stream_options: { include_usage: true } }).finalChatCompletion()
      : await this.client.chat.completions.create(request);
    const { message } = completion.choices[0];
    const { role, content, tool_calls } = message;
    this.messages.push({ role, content, ...(tool_calls?.length && { tool_calls: tool_calls.map(sent) }) });
    const calls = (tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      arguments: JSON.parse(call.function.arguments),
    }));
    const { prompt_tokens: total, completion_tokens: output, prompt_tokens_details: details } = completion.usage;
    return seen(content, calls, { total, cached: details.cached_tokens, written: details.cache_write_tokens, output });
  }
}

// A call without what the SDK's stream helper adds to it.
function sent({ id, type, function: { name, arguments: text } }) {
  return { id, type, function: { name, arguments: text } };
}

hold(new Chat());
