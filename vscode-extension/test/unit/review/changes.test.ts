import assert from "node:assert/strict";
import { beforeEach, describe, it, mock } from "node:test";
import { EventEmitter } from "vscode";
import type { Ctx } from "../../../src/ctx";
import { Changes } from "../../../src/review/changes";
import type { SessionUpdate } from "../../../src/sessions/sessions";
import { message, session } from "../model/make";
import { FakeRpc, settled } from "../rpc";

/** What the changes use of everything. */
function newCtx(rpc: FakeRpc, updates: EventEmitter<SessionUpdate>): Ctx {
  const ctx: { [K in "rpc" | "sessions" | "extension" | "log"]: Partial<Ctx[K]> } = {
    rpc,
    sessions: {
      current: "s1",
      currentView: { session: session() } as Ctx["sessions"]["currentView"] & object,
      onUpdate: updates.event,
      onDidChangeCurrent: new EventEmitter<void>().event as never,
    },
    extension: { workspaceState: { get: () => undefined } as never },
    log: {},
  };
  return ctx as Ctx;
}

describe("changes", () => {
  let rpc: FakeRpc;
  let updates: EventEmitter<SessionUpdate>;
  let changes: Changes;

  /** Lets time pass until all has been read that is going to be. */
  async function read(): Promise<number> {
    mock.timers.tick(1000);
    for (let i = 0; i < 5; i++) await settled();
    return rpc.of("diff").length;
  }

  beforeEach(() => {
    mock.timers.reset();
    mock.timers.enable({ apis: ["setTimeout"] });
    rpc = new FakeRpc();
    rpc.answers.checkpoints = () =>
      ({ checkpoints: [{ id: "c1", at: "2026-01-01T00:00:00Z", summary: "Start" }] }) as never;
    rpc.answers.diff = () => ({ files: [], truncated: false });
    updates = new EventEmitter();
    changes = new Changes(newCtx(rpc, updates));
  });

  it("are read when somebody looks, and not again when nothing has happened", async () => {
    assert.equal(await read(), 0);
    changes.watch(true);
    assert.equal(await read(), 1);
    changes.watch(false);
    changes.watch(true);
    assert.equal(await read(), 1);
  });

  it("are read again for what happened while nobody looked", async () => {
    changes.watch(true);
    await read();
    changes.watch(false);
    updates.fire({
      sessionId: "s1",
      kind: "event",
      message: message(9, { type: "checkpoint/created", checkpoint: { id: "c2" } } as never),
    });
    assert.equal(await read(), 1);
    changes.watch(true);
    assert.equal(await read(), 2);
  });

  it("are read again when the reading failed", async () => {
    rpc.answers.diff = () => Promise.reject(new Error("no"));
    await assert.rejects(changes.read());
    rpc.answers.diff = () => ({ files: [], truncated: false });
    const before = rpc.of("diff").length;
    changes.watch(true);
    assert.equal(await read(), before + 1);
  });
});
