// The conversation of conversation.py, word for word, for the SDKs of npm.
"use strict";

const HEAD = "You are a coding agent for the repository parser. " + "Keep to the rules of the house. ".repeat(700);
const TASKS = ["1 open", "1 open", "1 done, 2 open", "1 open", "none"];
const TOOLS = ["read_file", "run_tests"].map((name) => ({
  name,
  description: `Run ${name} in the checkout.`,
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
}));

const head = (tasks) => `${HEAD}\n\n## Tasks\n${tasks}`;

const baseUrl = () => process.argv[2];

// Holds the conversation with a client that has `say(text)`, `give(results)` and `ask(head, stream)`.
// `ask` appends the answer to its history and resolves to `seen(...)`; `give` takes [call, text] of each call in it.
async function hold(client) {
  const answers = [];
  for (const [at, tasks] of TASKS.entries()) {
    client.say(`[tools:2] Do step ${at + 1}.`);
    for (;;) {
      const answer = await client.ask(head(tasks), answers.length % 2 === 0);
      answers.push(answer);
      if (answer.calls.length === 0) break;
      client.give(answer.calls.map((call) => [call, `The result of ${call.name}.`]));
    }
  }
  console.log(JSON.stringify({ answers }));
}

// What an SDK showed of one answer. `calls` are {id, name, arguments}; null is a number that it did not show.
function seen(text, calls, usage, thinking) {
  const { total, cached = null, written = null, output } = usage;
  return { text: text || null, calls, usage: { total, cached, written, output }, thinking: thinking || null };
}

module.exports = { TOOLS, baseUrl, hold, seen };
