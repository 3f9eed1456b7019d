import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Disposable } from "vscode";
import type { Ctx } from "../../src/ctx";
import { registerNotifications } from "../../src/notify";
import { Listing } from "../../src/sessions/listing";
import { Sessions } from "../../src/sessions/sessions";
import { Waiting } from "../../src/sessions/waiting";
import { approval, message, session, snapshot } from "./model/make";
import { FakeRpc } from "./rpc";
import { world } from "./vscode";

let rpc: FakeRpc;
let ctx: Ctx;
let visible: boolean;
let listeners: Disposable[];

beforeEach(async () => {
  world.reset();
  rpc = new FakeRpc();
  rpc.answers.sessions = () => ({ sessions: [] });
  rpc.answers.attach = ({ sessionId }) => snapshot(5, [], { session: session({ id: sessionId }) });
  rpc.ready();
  let current: unknown = "s1";
  const sessions = new Sessions(rpc, {
    get: () => current as never,
    update: (_, value: unknown) => Promise.resolve(void (current = value)),
  });
  const listing = new Listing(rpc, sessions, (thrown) => assert.fail(String(thrown)));
  const conversation = {
    get visible() {
      return visible;
    },
  };
  ctx = { rpc, sessions, listing, conversation, waiting: new Waiting(sessions, listing) } as unknown as Ctx;
  listeners = registerNotifications(ctx);
  await sessions.attach("s1");
});

afterEach(() => {
  for (const listener of listeners) listener.dispose();
  ctx.waiting.dispose();
  ctx.listing.dispose();
  ctx.sessions.dispose();
});

const asks = (): void => rpc.emit(message(6, { type: "approval/requested", approval: approval("a1") }));

describe("notifications", () => {
  it("tell of what waits for an answer while the conversation is hidden, once", () => {
    visible = false;
    asks();
    asks();
    assert.equal(world.messages.length, 1);
    assert.match(world.messages[0] ?? "", /^“A title” waits for your answer: /);
  });

  it("allow at once only what they show whole", () => {
    visible = false;
    let offered: readonly unknown[] = [];
    world.answer = (_, choices) => void (offered = choices);
    asks();
    assert.deepEqual(offered, ["Open", "Allow", "Deny"]);
    rpc.emit(message(7, { type: "approval/requested", approval: approval("a2", { tool: "apply_patch" }) }));
    assert.deepEqual(offered, ["Open", "Deny"]);
  });

  it("tell nothing that is before the user", () => {
    visible = true;
    asks();
    assert.deepEqual(world.messages, []);
  });

  it("tell of another session than the one that is shown", () => {
    visible = true;
    ctx.sessions.use("s2");
    asks();
    assert.equal(world.messages.length, 1);
  });

  it("are off, or tell of the ends of turns too, as the user wants", () => {
    visible = false;
    world.settings.user = { "sandboxAgent.notifications": "off" };
    asks();
    rpc.emit(message(7, { type: "turn/completed", turnId: 1, status: "completed" } as never));
    assert.deepEqual(world.messages, []);
    world.settings.user = { "sandboxAgent.notifications": "approvalsAndTurns" };
    rpc.emit(message(8, { type: "turn/completed", turnId: 2, status: "interrupted" } as never));
    assert.deepEqual(world.messages, ["The turn of “A title” was interrupted."]);
  });
});
