// The `ai` package with one of its providers. usage: ai_sdk.cjs BASE_URL PROVIDER
"use strict";

const { generateText, jsonSchema, streamText, tool } = require("ai");
const { TOOLS, baseUrl, hold, seen } = require("./conversation.cjs");

const apiKey = "test-of-the-suite";
const MARKER = { type: "ephemeral" };

// Model, options of each request, and of what is to be cached.
const PROVIDERS = {
  "openai-chat": () => ({ model: openai().chat("gpt-5.6") }),
  "openai-responses": () => ({
    model: openai().responses("gpt-5.6"),
    options: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
  }),
  anthropic: () => ({
    model: require("@ai-sdk/anthropic").createAnthropic({ baseURL: `${baseUrl()}/v1`, apiKey })("claude-opus-5-5"),
    // Else each tool has a member more in requests that stream than in those that do not.
    options: { anthropic: { thinking: { type: "adaptive" }, toolStreaming: false } },
    marker: { anthropic: { cacheControl: MARKER } },
  }),
  google: () => ({
    model: require("@ai-sdk/google").createGoogleGenerativeAI({ baseURL: `${baseUrl()}/v1beta`, apiKey })("gemini-3.5-pro"),
    options: { google: { thinkingConfig: { includeThoughts: true } } },
  }),
  "amazon-bedrock": () => ({
    model: require("@ai-sdk/amazon-bedrock").createAmazonBedrock({ baseURL: baseUrl(), region: "eu-central-1", apiKey })(
      "eu.anthropic.claude-opus-4-8-v1:0",
    ),
    marker: { bedrock: { cachePoint: { type: "default" } } },
  }),
  "openai-compatible": () => ({
    model: require("@ai-sdk/openai-compatible").createOpenAICompatible({
      name: "compatible",
      baseURL: `${baseUrl()}/v1`,
      apiKey,
      includeUsage: true,
    })("grok-4.3"),
  }),
  mistral: () => ({
    model: require("@ai-sdk/mistral").createMistral({ baseURL: `${baseUrl()}/v1`, apiKey })("mistral-large-latest"),
  }),
};

const openai = () => require("@ai-sdk/openai").createOpenAI({ baseURL: `${baseUrl()}/v1`, apiKey });

class Ai {
  messages = [];

  constructor({ model, options, marker }) {
    Object.assign(this, { model, options, marker });
  }

  say(text) {
    this.messages.push({ role: "user", content: text });
  }

  give(results) {
    const content = results.map(([call, text]) => ({
      type: "tool-result",
      toolCallId: call.id,
      toolName: call.name,
      output: { type: "text", value: text },
    }));
    this.messages.push({ role: "tool", content });
  }

  async ask(head, stream) {
    const request = {
      model: this.model,
      messages: [this.marked({ role: "system", content: head }), ...this.messages.slice(0, -1), this.marked(this.messages.at(-1))],
      // Without an `execute` the loop is ours.
      tools: Object.fromEntries(
        TOOLS.map(({ name, description, parameters }) => [name, tool({ description, inputSchema: jsonSchema(parameters) })]),
      ),
      providerOptions: this.options,
      maxRetries: 0,
      allowSystemInMessages: true,
    };
    const result = stream ? await streamed(request) : await generateText(request);
    this.messages.push(...result.response.messages);
    const calls = result.toolCalls.map(({ toolCallId, toolName, input }) => ({
      id: toolCallId,
      name: toolName,
      arguments: input,
    }));
    const { inputTokens: total, inputTokenDetails: details, outputTokens: output } = result.usage;
    const usage = { total, cached: details.cacheReadTokens, written: details.cacheWriteTokens, output };
    return seen(result.text, calls, usage, result.reasoningText);
  }

  marked(message) {
    return this.marker ? { ...message, providerOptions: this.marker } : message;
  }
}

async function streamed(request) {
  let failure;
  const result = streamText({ ...request, onError: ({ error }) => (failure ??= error) });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  if (failure) throw failure;
  const [whole, toolCalls, usage, response, reasoningText] = await Promise.all([
    result.text,
    result.toolCalls,
    result.usage,
    result.response,
    result.reasoningText,
  ]);
  if (whole !== text) throw new Error(`${JSON.stringify(whole)} after ${JSON.stringify(text)}`);
  return { text, toolCalls, usage, response, reasoningText };
}

hold(new Ai(PROVIDERS[process.argv[3]]()));
