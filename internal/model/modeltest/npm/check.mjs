// Checks the scripted model server with OpenAI's own client: if that client understands it, it is like the real one.
// BASE_URL is where the server answers by testdata/models/basic.json, FAULTS_URL where it answers by faults.json.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";

const client = (url) => new OpenAI({ baseURL: url, apiKey: "sk-check", maxRetries: 3 });
const basic = client(process.env.BASE_URL);
const faults = client(process.env.FAULTS_URL);
const model = "scripted";
const parameters = { type: "object", properties: { command: { type: "string" } } };

test("models", async () => {
  const page = await basic.models.list();
  assert.deepEqual(page.data.map((m) => m.id), [model]);
});

test("responses: streamed round with a tool call and reasoning", async () => {
  const request = {
    model, store: false, include: ["reasoning.encrypted_content"],
    input: [{ role: "user", content: "run the command" }],
    tools: [{ type: "function", name: "exec_command", parameters, strict: false }],
  };
  const types = new Set();
  let seen = "";
  const stream = basic.responses.stream(request);
  for await (const event of stream) {
    types.add(event.type);
    if (event.type === "response.function_call_arguments.delta") seen += event.delta;
  }
  const first = await stream.finalResponse();
  const call = first.output.find((item) => item.type === "function_call");
  assert.equal(call.arguments, seen);
  assert.deepEqual(JSON.parse(seen), { command: "echo scripted; exit 3" });
  assert.equal(first.usage.input_tokens_details.cached_tokens, 40);
  for (const type of ["response.created", "response.output_item.added", "response.reasoning_summary_text.delta", "response.completed"]) {
    assert.ok(types.has(type), type);
  }
  const output = { type: "function_call_output", call_id: call.call_id, output: "exit code 3" };
  const stream2 = basic.responses.stream({ ...request, input: [...request.input, ...first.output, output] });
  const second = await stream2.finalResponse();
  assert.equal(second.output_text, "The tool said: exit code 3");
});

test("responses: not streamed", async () => {
  const response = await basic.responses.create({ model, input: "hello" });
  assert.equal(response.output_text, "You said: hello (turn 1).");
  assert.equal(response.status, "completed");
});

test("chat: streamed round with two calls at once", async () => {
  const request = {
    model, messages: [{ role: "user", content: "look around" }], stream_options: { include_usage: true },
    tools: ["list", "exec_command"].map((name) => ({ type: "function", function: { name, parameters } })),
  };
  const first = await basic.chat.completions.stream(request).finalChatCompletion();
  const message = first.choices[0].message;
  assert.equal(first.choices[0].finish_reason, "tool_calls");
  assert.deepEqual(message.tool_calls.map((t) => t.function.name), ["list", "exec_command"]);
  assert.ok(first.usage.total_tokens > 0);
  const results = message.tool_calls.map((t) => ({ role: "tool", tool_call_id: t.id, content: `result of ${t.function.name}` }));
  const { role, content, tool_calls } = message;
  const stream = basic.chat.completions.stream({ ...request, messages: [...request.messages, { role, content, tool_calls }, ...results] });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  assert.equal(text, "The tool said: result of exec_command");
});

test("chat: not streamed", async () => {
  const answer = await basic.chat.completions.create({ model, messages: [{ role: "user", content: "hello" }] });
  assert.equal(answer.choices[0].message.content, "You said: hello (turn 1).");
});

test("a rate limit is waited for and tried again", async () => {
  const response = await faults.responses.create({ model, input: "rate limit" });
  assert.equal(response.output_text, "After the limit.");
});

test("a missing tool output is refused as by the real API", async () => {
  const input = [{ role: "user", content: "x" }, { type: "function_call", call_id: "c1", name: "list", arguments: "{}" }];
  await assert.rejects(basic.responses.create({ model, input }), (e) => e.status === 400 && /No tool output found for function call c1/.test(e.message));
  const messages = [
    { role: "user", content: "x" },
    { role: "assistant", tool_calls: [{ id: "c1", type: "function", function: { name: "list", arguments: "{}" } }] },
  ];
  await assert.rejects(basic.chat.completions.create({ model, messages }), (e) => e.status === 400 && /did not have response messages: c1/.test(e.message));
});

test("quota and context length are errors with their codes", async () => {
  await assert.rejects(faults.responses.create({ model, input: "quota" }, { maxRetries: 0 }), (e) => e.code === "insufficient_quota");
  await assert.rejects(faults.responses.create({ model, input: "too long" }), (e) => e.code === "context_length_exceeded");
});

test("a stream that is cut fails", async () => {
  await assert.rejects(faults.responses.stream({ model, input: "cut" }).finalResponse());
});
