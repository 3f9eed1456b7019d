import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { Memento } from "vscode";
import { RpcError } from "../../../src/client/rpc";
import { Steering, Stranded } from "../../../src/conversation/steering";
import { FakeRpc } from "../rpc";

class Memory {
  private readonly values = new Map<string, unknown>();
  readonly get = ((key: string) => this.values.get(key)) as Memento["get"];
  update(key: string, value: unknown): Promise<void> {
    this.values.set(key, structuredClone(value));
    return Promise.resolve();
  }
}

const away = (): never => {
  throw new RpcError("exited", "The server has ended.");
};
const refuse = (): never => {
  throw new RpcError("conflict", "The turn has ended.");
};

describe("steering with a request that waits", () => {
  let rpc: FakeRpc;
  let memory: Memory;
  let steering: Steering;

  beforeEach(() => {
    rpc = new FakeRpc();
    memory = new Memory();
    steering = new Steering(rpc, memory);
    rpc.answers = {
      queue: () => ({ queued: [], seq: 1 }),
      steer: () => ({ itemId: "i5", seq: 2 }),
      ask: () => ({ sessionId: "s1", turnId: 3, itemId: "i6", queued: true, seq: 3 }),
    };
  });

  const asked = (): string[] => rpc.asked.map(({ command }) => command);
  const now = (): Promise<{ queued: boolean }> => steering.now("s1", "i4", 2, "the text");

  it("takes it back, then sends it", async () => {
    assert.deepEqual(await now(), { queued: false });
    assert.deepEqual(asked(), ["queue", "steer"]);
    await steering.resume();
    assert.equal(asked().length, 2, "nothing is left to do");
  });

  it("asks with it when the turn has ended", async () => {
    rpc.answers.steer = refuse;
    assert.deepEqual({ queued: (await now()).queued }, { queued: true });
    assert.deepEqual(asked(), ["queue", "steer", "ask"]);
  });

  it("leaves it alone when its turn has begun", async () => {
    rpc.answers.queue = refuse;
    await assert.rejects(now(), { code: "conflict" });
    await steering.resume();
    assert.deepEqual(asked(), ["queue"]);
  });

  it("goes on where it was, under the same ids, when the server ends in between", async () => {
    rpc.answers.steer = away;
    await assert.rejects(now(), { code: "exited" });
    rpc.answers.steer = () => ({ itemId: "i5", seq: 2 });
    await new Steering(rpc, memory).resume(); // in the next window
    assert.deepEqual(asked(), ["queue", "steer", "queue", "steer"]);
    const ids = rpc.asked.map(({ params }) => (params as { requestId: string }).requestId);
    assert.deepEqual(ids.slice(0, 2), ids.slice(2));
    await steering.resume();
    assert.equal(asked().length, 4);
  });

  it("gives the text back when nobody takes it any more", async () => {
    rpc.answers.steer = refuse;
    rpc.answers.ask = refuse;
    await assert.rejects(now(), (thrown) => thrown instanceof Stranded && thrown.text === "the text");
    await steering.resume();
    assert.deepEqual(asked(), ["queue", "steer", "ask"]);
  });
});
