import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { EventEmitter, type CancellationToken } from "vscode";
import type { Ctx } from "../../src/ctx";
import { unnoticed, withProgress } from "../../src/commands/progress";
import type { SessionUpdate } from "../../src/sessions/sessions";
import { at, message } from "./model/make";
import { settled } from "./rpc";
import { world } from "./vscode";

const updates = new EventEmitter<SessionUpdate>();
const ctx = { sessions: { onUpdate: updates.event } } as unknown as Pick<Ctx, "sessions">;

let finish: (result: string) => void;
let fail: (reason: Error) => void;
let token: CancellationToken;

function work(given: CancellationToken): Promise<string> {
  token = given;
  return new Promise((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
}

function does(sessionId: string, reason: string): void {
  const event = { type: "state/changed" as const, state: { status: "switching" as const, since: at, reason } };
  updates.fire({ kind: "event", sessionId, message: message(1, event) });
}

beforeEach(() => {
  world.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

afterEach(() => mock.timers.reset());

describe("progress", () => {
  it("is not shown of what has ended before anybody would have read it", async () => {
    const outcome = withProgress(ctx, "Looking…", "s1", work);
    mock.timers.tick(unnoticed - 1);
    finish("done");
    assert.equal(await outcome, "done");
    mock.timers.tick(unnoticed);
    await settled();
    assert.deepEqual(world.progress, []);
  });

  it("is shown of what takes longer, with what its session does, until it has ended", async () => {
    const outcome = withProgress(ctx, "Carrying…", "s1", work);
    mock.timers.tick(unnoticed);
    await settled();
    does("s2", "Another session");
    does("s1", "Taking a picture");
    finish("done");
    assert.equal(await outcome, "done");
    does("s1", "Ready");
    assert.deepEqual(
      world.progress.map(({ title, told }) => ({ title, told })),
      [{ title: "Carrying…", told: ["Taking a picture"] }],
    );
  });

  it("cancels what it is shown of", async () => {
    const outcome = withProgress(ctx, "Looking…", undefined, work, { cancellable: true });
    mock.timers.tick(unnoticed);
    await settled();
    assert.ok(!token.isCancellationRequested);
    world.progress[0]?.cancel();
    assert.ok(token.isCancellationRequested);
    fail(new Error("cancelled"));
    await assert.rejects(outcome, /cancelled/);
  });

  for (const time of [0, unnoticed]) {
    it(`lets a failure through that comes after ${time} ms`, async () => {
      const outcome = withProgress(ctx, "Looking…", undefined, work);
      mock.timers.tick(time);
      await settled();
      fail(new Error("no"));
      await assert.rejects(outcome, /no/);
    });
  }
});
