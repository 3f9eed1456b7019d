import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Session } from "../../../editors/protocol";
import { Listing } from "../../src/sessions/listing";
import { Sessions } from "../../src/sessions/sessions";
import { Waiting } from "../../src/sessions/waiting";
import { approval, at, message, session, snapshot } from "./model/make";
import { FakeRpc, settled } from "./rpc";
import { world } from "./vscode";

let rpc: FakeRpc;
let sessions: Sessions;
let listing: Listing;
let waiting: Waiting;
let asked: string[];
let listed: Session[];

beforeEach(() => {
  world.reset();
  rpc = new FakeRpc();
  listed = [];
  rpc.answers.sessions = () => ({ sessions: listed });
  rpc.answers.detach = () => ({});
  rpc.answers.attach = ({ sessionId }) => {
    const asking = session({ id: sessionId, state: { status: "waitingApproval", since: at } });
    return snapshot(5, [], { session: asking, state: asking.state, pendingApprovals: [approval(`a-${sessionId}`)] });
  };
  rpc.ready();
  sessions = new Sessions(rpc, { get: () => undefined, update: () => Promise.resolve() });
  listing = new Listing(rpc, sessions, (thrown) => assert.fail(String(thrown)));
  waiting = new Waiting(sessions, listing);
  asked = [];
  waiting.onRequested(({ approval: { id } }) => asked.push(id));
});

afterEach(() => {
  waiting.dispose();
  listing.dispose();
  sessions.dispose();
});

describe("what waits for an answer", () => {
  it("is known of sessions that nobody looks at, each once", async () => {
    listed = [session({ id: "s1", state: { status: "waitingApproval", since: at } }), session({ id: "s2" })];
    await listing.refresh();
    await settled();
    await listing.refresh();
    assert.deepEqual(
      waiting.all.map(({ approval: { id } }) => id),
      ["a-s1"],
    );
    assert.deepEqual(asked, ["a-s1"]);
    assert.equal(rpc.of("attach").length, 1);
  });

  it("is gone when it was answered elsewhere, and the session is let go then", async () => {
    listed = [session({ id: "s1", state: { status: "waitingApproval", since: at } })];
    await listing.refresh();
    await settled();
    rpc.emit(message(6, { type: "approval/resolved", approval: approval("a-s1", { decision: "allow" }) }));
    assert.deepEqual(waiting.all, []);
    rpc.emit(message(7, { type: "state/changed", state: { status: "running", since: at } }));
    await settled();
    assert.deepEqual(rpc.of("detach"), [{ sessionId: "s1" }]);
  });

  it("comes oldest first", async () => {
    await sessions.attach("s1");
    const older = approval("older", { at: "2020-01-01T00:00:00Z" });
    rpc.emit(message(6, { type: "approval/requested", approval: older }));
    assert.deepEqual(
      waiting.all.map(({ approval: { id } }) => id),
      ["older", "a-s1"],
    );
    assert.equal(waiting.of("s1")?.approval.id, "older");
    assert.equal(waiting.of("s2"), undefined);
  });
});

describe("the list of sessions", () => {
  it("is of the window's folders, page by page, each session once, newest first", async () => {
    world.folders = [world.folder("/a"), world.folder("/b")];
    rpc.answers.sessions = ({ workspaceFolder, cursor }) => {
      if (workspaceFolder === "file:///b")
        return { sessions: [session({ id: "shared" }), session({ id: "new", updatedAt: "2027-01-01T00:00:00Z" })] };
      return cursor
        ? { sessions: [session({ id: "old", updatedAt: "2020-01-01T00:00:00Z" })] }
        : { sessions: [session({ id: "shared" })], nextCursor: "2" };
    };
    await listing.refresh();
    assert.deepEqual(
      listing.sessions.map(({ id }) => id),
      ["new", "shared", "old"],
    );
  });

  it("starts no server by itself", async () => {
    rpc.become({ kind: "stopped" });
    world.folders = [world.folder("/a")];
    await settled();
    assert.deepEqual(rpc.of("sessions"), []);
  });

  it("is as new as the events of what is attached", async () => {
    listed = [session({ id: "s1", title: "old" })];
    await sessions.attach("s1");
    await listing.refresh();
    rpc.emit(message(6, { type: "session/updated", session: session({ id: "s1", title: "new" }) }));
    assert.equal(listing.sessions[0]?.title, "new");
  });
});
