import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { stopCommand } from "../../src/commands/stopping";
import type { Ctx } from "../../src/ctx";
import { runningCommands } from "../../src/model/running";
import { attached, emptyView } from "../../src/model/session";
import { Sessions } from "../../src/sessions/sessions";
import { approval, at, item, session, snapshot } from "./model/make";
import { FakeRpc } from "./rpc";
import { world } from "./vscode";

const call = { kind: "toolCall", tool: "exec_command", status: "inProgress" } as const;
const busy = snapshot(
  4,
  [
    item(1, { ...call, text: "make\ntest" }),
    item(2, { ...call, text: "rm -rf /" }),
    item(3, { ...call, tool: "read_file", text: "a" }),
    item(4, { ...call, status: "completed", text: "ls" }),
  ],
  {
    session: session(),
    pendingApprovals: [approval("a1", { itemId: "i2" })],
    background: [{ itemId: "i9", turnId: 1, command: "npm start", at }],
  },
);

describe("stopping a command", () => {
  let rpc: FakeRpc;
  let ctx: Ctx;

  beforeEach(() => {
    world.reset();
    rpc = new FakeRpc();
    rpc.ready();
    rpc.answers.attach = () => busy;
    rpc.answers.stop = ({ itemId }) => ({ itemId, already: false, how: "stopped by vscode after 3 s", seq: 5 });
    const sessions = new Sessions(rpc, { get: () => undefined as never, update: () => Promise.resolve() });
    ctx = { rpc, sessions } as unknown as Ctx;
  });

  const stopped = (): unknown[] =>
    rpc.of("stop").map((params) => ({ ...(params as { requestId?: string }), requestId: "" }));

  it("is offered for those that run, and not for those that wait for an approval", () => {
    assert.deepEqual(runningCommands(attached(emptyView("s1"), busy)), [
      { itemId: "i1", command: "make\ntest", background: false },
      { itemId: "i9", command: "npm start", background: true },
    ]);
  });

  it("lets the user choose which, and says how it ended", async () => {
    world.answer = (_, choices) => choices.at(-1);
    await stopCommand(ctx, { sessionId: "s1" });
    assert.deepEqual(stopped(), [{ requestId: "", sessionId: "s1", itemId: "i9" }]);
    assert.equal(world.messages.at(-1), "Stopped by vscode after 3 s");
  });

  it("stops nothing when the user chooses nothing", async () => {
    await stopCommand(ctx, { sessionId: "s1" });
    assert.deepEqual(stopped(), []);
  });

  it("does not ask about the one that is named", async () => {
    world.answer = () => assert.fail("it asked");
    await stopCommand(ctx, { sessionId: "s1", itemId: "i1" }).catch(() => undefined);
    assert.deepEqual(stopped(), [{ requestId: "", sessionId: "s1", itemId: "i1" }]);
  });

  it("says that none runs", async () => {
    rpc.answers.attach = () => snapshot(1, [], { session: session() });
    await stopCommand(ctx, { sessionId: "s1" });
    assert.match(world.messages.at(-1) ?? "", /No command of this session runs/);
  });
});
