// @google/genai, Gemini. usage: google_genai.cjs BASE_URL
"use strict";

const { GoogleGenAI } = require("@google/genai");
const { TOOLS, baseUrl, hold, seen } = require("./conversation.cjs");

class Gemini {
  client = new GoogleGenAI({ apiKey: "test-of-the-suite", vertexai: false, httpOptions: { baseUrl: baseUrl() } });
  contents = [];

  say(text) {
    this.contents.push({ role: "user", parts: [{ text }] });
  }

  give(results) {
    const parts = results.map(([{ id, name }, text]) => ({ functionResponse: { id, name, response: { output: text } } }));
    this.contents.push({ role: "user", parts });
  }

  async ask(head, stream) {
    const declarations = TOOLS.map(({ name, description, parameters }) => ({
      name,
      description,
      parametersJsonSchema: parameters,
    }));
    const request = {
      model: "gemini-3.5-pro",
      contents: this.contents,
      config: {
        systemInstruction: head,
        tools: [{ functionDeclarations: declarations }],
        thinkingConfig: { includeThoughts: true },
      },
    };
    const answers = [];
    if (stream) {
      for await (const piece of await this.client.models.generateContentStream(request)) answers.push(piece);
    } else {
      answers.push(await this.client.models.generateContent(request));
    }
    const parts = answers.flatMap((answer) => answer.candidates?.[0]?.content?.parts ?? []);
    this.contents.push({ role: "model", parts: merged(parts) });
    const { usageMetadata } = answers.findLast((answer) => answer.usageMetadata);
    const usage = {
      total: usageMetadata.promptTokenCount,
      cached: usageMetadata.cachedContentTokenCount,
      output: (usageMetadata.candidatesTokenCount ?? 0) + (usageMetadata.thoughtsTokenCount ?? 0),
    };
    const texts = (thought) => parts.filter((part) => part.text && Boolean(part.thought) === thought).map((part) => part.text);
    const calls = parts
      .filter((part) => part.functionCall)
      .map(({ functionCall: { id = null, name, args } }) => ({ id, name, arguments: args }));
    return seen(texts(false).join(""), calls, usage, texts(true).join(""));
  }
}

// Pieces of one text joined; a signature closes its part.
function merged(parts) {
  const out = [];
  for (const part of parts) {
    const before = out.at(-1);
    const joins = before?.text && part.text && before.thought === part.thought && !before.thoughtSignature;
    if (joins) out[out.length - 1] = { ...before, ...part, text: before.text + part.text };
    else out.push(part);
  }
  return out;
}

hold(new Gemini());
