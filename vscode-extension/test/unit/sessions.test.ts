import assert from "node:assert/strict";
import { beforeEach, describe, it, mock } from "node:test";
import type { Memento } from "vscode";
import type { AttachParams, AttachResult } from "../../../editors/protocol";
import { Backoff } from "../../src/client/backoff";
import { RpcError } from "../../src/client/rpc";
import { Sessions, type SessionUpdate } from "../../src/sessions/sessions";
import { approval, completed, message, missed, snapshot, started } from "./model/make";
import { FakeRpc, settled } from "./rpc";

/** The part of vscode.Memento that is used, with its type. */
function newMemory(): Pick<Memento, "get" | "update"> {
  const values = new Map<string, unknown>();
  return {
    get: (key: string) => values.get(key) as never,
    update(key: string, value: unknown) {
      values.set(key, value);
      return Promise.resolve();
    },
  };
}

let rpc: FakeRpc;
let sessions: Sessions;
let updates: SessionUpdate[];
let memory: ReturnType<typeof newMemory>;

function answers(...results: (AttachResult | RpcError)[]): void {
  rpc.answers.attach = () => {
    const next = results.shift();
    if (!next) throw new Error("there is no more answer");
    if (next instanceof RpcError) throw next;
    return next;
  };
}

beforeEach(() => {
  rpc = new FakeRpc();
  rpc.ready();
  memory = newMemory();
  sessions = new Sessions(rpc, memory, () => new Backoff(1000, 4000));
  updates = [];
  sessions.onUpdate((update) => updates.push(update));
});

describe("attached sessions", () => {
  it("are attached to once, however many ask", async () => {
    answers(snapshot(5, []));
    const [a, b] = await Promise.all([sessions.attach("s1"), sessions.attach("s1")]);
    assert.equal(a, b);
    await sessions.attach("s1");
    assert.equal(rpc.of("attach").length, 1);
    assert.deepEqual(
      updates.map(({ kind }) => kind),
      ["attached", "connection"],
    );
  });

  it("follow their events, each once", async () => {
    answers(snapshot(5, []));
    await sessions.attach("s1");
    for (const event of [started(6), started(6), completed(7, 6, { text: "done" })]) rpc.emit(event);
    assert.equal(sessions.get("s1")?.seq, 7);
    assert.equal(sessions.get("s1")?.items[0]?.text, "done");
    assert.equal(updates.filter(({ kind }) => kind === "event").length, 2);
  });

  it("take events that come before the answer after it", async () => {
    rpc.answers.attach = async () => {
      await settled();
      rpc.emit(started(6));
      return snapshot(5, []);
    };
    await sessions.attach("s1");
    assert.equal(sessions.get("s1")?.seq, 6);
    assert.deepEqual(
      updates.map(({ kind }) => kind),
      ["attached", "connection", "event"],
    );
  });

  it("attach again from the last event when a new server is there, and nothing comes twice", async () => {
    answers(snapshot(5, []), missed(7, [started(6), completed(7, 6)]));
    await sessions.attach("s1");
    rpc.emit(started(6));
    rpc.become({ kind: "waiting", problem: { message: "It ended.", remedy: "Repair it." }, pause: 200 });
    const away = { connected: false, problem: "It ended. Repair it." };
    assert.deepEqual(sessions.connection("s1"), away);
    rpc.emit(completed(7, 6)); // of a server that is gone
    rpc.become({ kind: "starting" });
    assert.deepEqual(sessions.connection("s1"), away, "until it is there again");
    assert.equal(sessions.get("s1")?.seq, 6);
    rpc.ready();
    await settled();
    assert.deepEqual((rpc.of("attach") as AttachParams[])[1], { sessionId: "s1", afterSeq: 6 });
    assert.equal(sessions.get("s1")?.seq, 7);
    assert.equal(sessions.get("s1")?.items.length, 1);
    assert.deepEqual(sessions.connection("s1"), { connected: true });
  });

  it("attach again when an event was missed, and take a snapshot when even that does not help", async () => {
    answers(snapshot(5, []), missed(9, [started(9)]), snapshot(9, []));
    await sessions.attach("s1");
    rpc.emit(started(8));
    await settled();
    await settled();
    assert.deepEqual(rpc.of("attach"), [{ sessionId: "s1" }, { sessionId: "s1", afterSeq: 5 }, { sessionId: "s1" }]);
    assert.equal(sessions.get("s1")?.missed, false);
    assert.equal(sessions.get("s1")?.seq, 9);
  });

  it("try again after a pause while Temporal does not answer", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const gone = new RpcError("temporalUnavailable", "Temporal does not answer.", "Start it.", true);
      answers(snapshot(5, []), gone, missed(5, []));
      await sessions.attach("s1");
      rpc.ready();
      await settled();
      assert.deepEqual(sessions.connection("s1"), { connected: false, problem: "Temporal does not answer. Start it." });
      mock.timers.tick(1000);
      await settled();
      assert.deepEqual(sessions.connection("s1"), { connected: true });
    } finally {
      mock.timers.reset();
    }
  });

  it("are forgotten when they are no more, also as the current one", async () => {
    answers(snapshot(5, []), new RpcError("notFound", "There is no such session."));
    await sessions.attach("s1");
    sessions.use("s1");
    rpc.ready();
    await settled();
    assert.equal(sessions.get("s1"), undefined);
    assert.equal(sessions.current, undefined);
    assert.equal(updates.at(-1)?.kind, "gone");
  });

  it("are forgotten when they are destroyed elsewhere", async () => {
    answers(snapshot(5, []));
    await sessions.attach("s1");
    rpc.emit(message(6, { type: "state/changed", state: { status: "destroyed", since: "" } }));
    assert.equal(sessions.get("s1"), undefined);
  });

  it("keep the current one over a reload of the window, also when it cannot be attached to now", async () => {
    sessions.use("s1");
    const next = new Sessions(rpc, memory);
    assert.equal(next.current, "s1");
    answers(new RpcError("temporalUnavailable", "Temporal does not answer."));
    await assert.rejects(next.attach("s1"), { code: "temporalUnavailable" });
    assert.equal(next.current, "s1");
    next.dispose();
  });

  it("tell pending approvals after a reload", async () => {
    answers(snapshot(5, [], { pendingApprovals: [approval("a1")] }));
    const view = await sessions.attach("s1");
    assert.deepEqual(
      view.pendingApprovals.map(({ id }) => id),
      ["a1"],
    );
  });

  it("are let go", async () => {
    answers(snapshot(5, []));
    rpc.answers.detach = () => ({});
    await sessions.attach("s1");
    await sessions.detach("s1");
    rpc.emit(started(6));
    assert.equal(sessions.get("s1"), undefined);
    assert.deepEqual(rpc.of("detach"), [{ sessionId: "s1" }]);
  });
});
