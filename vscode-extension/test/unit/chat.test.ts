// The participant of the chat, as the chat calls it.
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { registerChat } from "../../src/chat";
import type { Ctx } from "../../src/ctx";
import { Sessions } from "../../src/sessions/sessions";
import { approval, message, session, snapshot } from "./model/make";
import { FakeRpc, settled } from "./rpc";
import { EventEmitter, world } from "./vscode";

type Handler = (request: object, context: object, stream: object, token: object) => Promise<object>;

let rpc: FakeRpc;
let written: string[];
let cancel: EventEmitter<void>;

/** Asks in the chat; the promise ends with the answer. */
function chat(prompt: string): Promise<object> {
  const handler = world.participants.get("sandbox-agent.sandbox") as Handler;
  const stream = {
    markdown: (text: string) => void written.push(text),
    progress: () => undefined,
    button: ({ title }: { title: string }) => void written.push(`[${title}]`),
  };
  return handler({ prompt }, {}, stream, { onCancellationRequested: cancel.event });
}

beforeEach(async () => {
  world.reset();
  rpc = new FakeRpc();
  rpc.ready();
  written = [];
  cancel = new EventEmitter<void>();
  rpc.answers.attach = ({ sessionId }) => snapshot(1, [], { session: session({ id: sessionId }) });
  rpc.answers.ask = () => ({ sessionId: "s1", turnId: 2, itemId: "i", queued: false, seq: 1 });
  rpc.answers.interrupt = () => ({ turnId: 2, status: "interrupted", seq: 2 });
  rpc.answers.queue = () => ({ queued: [], seq: 2 });
  const memory = { get: () => "s1" as never, update: () => Promise.resolve() };
  const sessions = new Sessions(rpc, memory);
  await sessions.attach("s1");
  const log = { warn: () => undefined, info: () => undefined };
  registerChat({ rpc, sessions, log } as unknown as Ctx);
});

describe("the participant of the chat", () => {
  it("shows what waits for an answer as it will run, whatever Markdown is in it", async () => {
    const subject = "rm -rf ~ ` <!-- ```\n# harmless";
    const answer = chat("go");
    await settled();
    rpc.emit(message(2, { type: "approval/requested", approval: approval("a", { subject }) }));
    assert.ok(written[0]?.includes(`\n\n\`\`\`\`\n${subject}\n\`\`\`\`\n\n`), written[0]);
    assert.deepEqual(written.slice(1), ["[Allow]", "[Deny]"]);
    rpc.emit(message(3, { type: "turn/completed", turnId: 2, status: "completed", usage: session().usage }));
    assert.deepEqual(await answer, {});
  });

  it("interrupts its turn, and only takes its question back while that waits", async () => {
    const running = chat("one");
    await settled();
    cancel.fire();
    assert.deepEqual(await running, {});
    assert.equal(rpc.of("interrupt").length, 1);

    rpc.answers.ask = () => ({ sessionId: "s1", turnId: 3, itemId: "q", queued: true, seq: 1 });
    const waiting = chat("two");
    await settled();
    cancel.fire();
    assert.deepEqual(await waiting, {});
    assert.deepEqual(
      rpc.of("queue").map((params) => ({ ...params, requestId: "" })),
      [{ requestId: "", sessionId: "s1", op: "remove", itemId: "q" }],
    );
    assert.equal(rpc.of("interrupt").length, 1);
  });
});
