// The participant of the chat, as the chat calls it.
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import type { TurnCompletedEvent } from "../../../editors/protocol";
import { registerChat } from "../../src/chat";
import { RpcError } from "../../src/client/rpc";
import type { Ctx } from "../../src/ctx";
import { patchTool } from "../../src/model/text";
import { Sessions } from "../../src/sessions/sessions";
import { approval, at, completed, delta, item, message, session, snapshot, started } from "./model/make";
import { FakeRpc, settled } from "./rpc";
import { EventEmitter, world } from "./vscode";

const running = { status: "running", since: at } as const;

type Handler = (request: object, context: object, stream: object, token: object) => Promise<object>;

let rpc: FakeRpc;
let written: string[];
let progress: string[];
let cancel: EventEmitter<void>;

/** What was registered, with what the extension has added to it. */
function participant() {
  return world.participants.get("sandbox-agent.sandbox") as {
    handler: unknown;
    followupProvider?: { provideFollowups(result: object): unknown };
  };
}

/** Asks in the chat; the promise ends with the answer. */
function chat(prompt: string): Promise<object> {
  const handler = participant().handler as Handler;
  const stream = {
    markdown: (text: string) => void written.push(text),
    progress: (text: string) => void progress.push(text),
    button: ({ title }: { title: string }) => void written.push(`[${title}]`),
  };
  return handler({ prompt, references: [] }, {}, stream, { onCancellationRequested: cancel.event });
}

beforeEach(async () => {
  world.reset();
  rpc = new FakeRpc();
  rpc.ready();
  written = [];
  progress = [];
  cancel = new EventEmitter<void>();
  rpc.answers.attach = ({ sessionId }) => snapshot(1, [], { session: session({ id: sessionId }) });
  rpc.answers.ask = () => ({ sessionId: "s1", turnId: 2, itemId: "i", queued: false, seq: 1 });
  rpc.answers.interrupt = () => ({ turnId: 2, status: "interrupted", seq: 2 });
  rpc.answers.queue = () => ({ queued: [], seq: 2 });
  const memory = { get: () => "s1" as never, update: () => Promise.resolve() };
  const sessions = new Sessions(rpc, memory);
  await sessions.attach("s1");
  const log = { warn: () => undefined, info: () => undefined };
  const listing = { refresh: () => Promise.resolve() };
  registerChat({ rpc, sessions, log, listing } as unknown as Ctx);
});

describe("the participant of the chat", () => {
  it("shows what waits for an answer as it will run, whatever Markdown is in it", async () => {
    const subject = "rm -rf ~ ` <!-- ```\n# harmless";
    const answer = chat("go");
    await settled();
    rpc.emit(message(2, { type: "approval/requested", approval: approval("a", { turnId: 2, subject }) }));
    assert.ok(written[0]?.includes(`\n\n\`\`\`\`\n${subject}\n\`\`\`\`\n\n`), written[0]);
    assert.deepEqual(written.slice(1), ["[Allow]", "[Deny]"]);
    rpc.emit(message(3, { type: "turn/completed", turnId: 2, status: "completed", usage: session().usage }));
    assert.deepEqual(await answer, {});
  });

  it("offers to open a change of files, not to allow it unread", async () => {
    const answer = chat("go");
    await settled();
    rpc.emit(message(2, { type: "approval/requested", approval: approval("a", { turnId: 2, tool: patchTool }) }));
    end(3);
    await answer;
    assert.deepEqual(written.slice(1), ["[Open]", "[Deny]", "[Open]"]);
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

  it("writes a message as it comes, once, and its turn only", async () => {
    const answer = chat("go");
    await settled();
    begin();
    rpc.emit(started(4, { turnId: 2 }));
    rpc.emit(delta(4, 0, "one "));
    rpc.emit(delta(4, 1, "two"));
    rpc.emit(completed(5, 4, { turnId: 2, text: "one two three" }));
    rpc.emit(completed(6, 6, { turnId: 1, text: "of another turn" }));
    end(7);
    assert.deepEqual(await answer, {});
    assert.deepEqual(written, ["one ", "two", " three", "\n\n", "[Open]"]);
  });

  it("writes the whole of a message that was begun anew", async () => {
    const answer = chat("go");
    await settled();
    begin();
    rpc.emit(started(4, { turnId: 2 }));
    rpc.emit(delta(4, 0, "one"));
    rpc.emit(delta(4, 0, "two ", { attempt: 2 }));
    rpc.emit(delta(4, 1, "three", { attempt: 2 }));
    rpc.emit(completed(5, 4, { turnId: 2, text: "two three" }));
    end(6);
    await answer;
    assert.deepEqual(written, ["one", "\n\n---\n\ntwo three", "\n\n", "[Open]"]);
  });

  it("ends where the turn has ended before the answer to the question, and offers what was changed", async () => {
    rpc.answers.ask = () => {
      begin();
      rpc.emit(completed(4, 3, { id: "i", turnId: 2, kind: "userMessage" }));
      rpc.emit(completed(5, 5, { turnId: 2, kind: "toolCall", files: [{ path: "a", kind: "changed" }] }));
      rpc.emit(message(6, { type: "state/changed", state: { status: "idle", since: at } }));
      end(7);
      return { sessionId: "s1", turnId: 2, itemId: "i", queued: false, seq: 3 };
    };
    assert.deepEqual(await chat("go"), {});
    assert.deepEqual(written, ["[Show Diff]", "[Open]"]);
  });

  it("does not take a turn that is just beginning for one that has ended", async () => {
    rpc.answers.ask = () => {
      rpc.emit(message(2, { type: "turn/started", turnId: 2 }));
      return { sessionId: "s1", turnId: 2, itemId: "i", queued: false, seq: 2 };
    };
    const answer = chat("go");
    await settled();
    assert.deepEqual(written, []);
    end(3);
    await answer;
    assert.deepEqual(written, ["[Open]"]);
  });

  it("says why a turn failed and what helps, and that it can be asked again", async () => {
    const answer = chat("go");
    await settled();
    begin();
    const error = { code: "modelUnavailable", remedy: "set a key.", retryable: false } as const;
    end(4, { status: "failed", message: "there is no key.", error });
    const result = (await answer) as vscode.ChatResult;
    assert.deepEqual(result.errorDetails, { message: "There is no key. Set a key." });
    assert.deepEqual(participant().followupProvider?.provideFollowups(result), [{ prompt: "go", label: "Ask again" }]);
  });

  it("offers what helps where nothing could be asked", async () => {
    rpc.answers.ask = () => Promise.reject(new RpcError("workerUnavailable", "no worker runs.", "start one."));
    const result = (await chat("go")) as vscode.ChatResult;
    assert.deepEqual(result.errorDetails, { message: "No worker runs. Start one." });
    assert.deepEqual(written, ["[Doctor]", "[Show Logs]"]);
  });

  it("tells what is wrong while nothing comes", async () => {
    const answer = chat("go");
    await settled();
    begin();
    rpc.emit(
      message(4, { type: "state/changed", state: { ...running, status: "recovering", reason: "Trying again." } }),
    );
    end(5);
    await answer;
    assert.deepEqual(progress, ["Asked", "Recovering: Trying again."]);
  });

  it("ends where the question is taken back elsewhere", async () => {
    rpc.answers.ask = () => ({ sessionId: "s1", turnId: 3, itemId: "i4", queued: true, seq: 1 });
    const answer = chat("go");
    await settled();
    rpc.emit(
      message(2, { type: "item/started", item: item(4, { turnId: 3, kind: "userMessage", status: "inProgress" }) }),
    );
    rpc.emit(completed(3, 4, { turnId: 3, kind: "userMessage", status: "interrupted" }));
    const result = (await answer) as vscode.ChatResult;
    assert.deepEqual(result.errorDetails, { message: "The question was taken back." });
  });

  it("never sends to the model what looks like a command", async () => {
    const result = (await chat("/swich docker")) as vscode.ChatResult;
    assert.match(result.errorDetails?.message ?? "", /^There is no command \/swich\. /);
    assert.deepEqual(participant().followupProvider?.provideFollowups(result), []);
    assert.deepEqual(rpc.of("ask"), []);
  });
});

/** The begin of turn 2. */
function begin(): void {
  rpc.emit(message(2, { type: "turn/started", turnId: 2 }));
  rpc.emit(message(3, { type: "state/changed", state: running }));
}

/** The end of turn 2. */
function end(seq: number, change: Partial<TurnCompletedEvent> = {}): void {
  const event = { type: "turn/completed", turnId: 2, status: "completed", usage: session().usage } as const;
  rpc.emit(message(seq, { ...event, ...change }));
}
