import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Status } from "../../../editors/protocol";
import { agoText, branches, contextValue, description, icon, title, type Branch } from "../../src/sessions/tree";
import { at, session } from "./model/make";

function shape(list: readonly Branch[]): unknown[] {
  return list.map(({ session: { id }, forks }) => (forks.length > 0 ? [id, shape(forks)] : id));
}

describe("the tree of sessions", () => {
  it("has forks below what they were forked from, in the order of the list", () => {
    const list = [
      session({ id: "c", parentId: "b" }),
      session({ id: "a" }),
      session({ id: "b", parentId: "a" }),
      session({ id: "d", parentId: "a" }),
      session({ id: "e" }),
    ];
    assert.deepEqual(shape(branches(list)), [["a", [["b", ["c"]], "d"]], "e"]);
  });

  it("shows a fork whose source is gone by itself, and survives a circle", () => {
    assert.deepEqual(shape(branches([session({ id: "x", parentId: "gone" })])), ["x"]);
    assert.deepEqual(shape(branches([session({ id: "x", parentId: "x" }), session({ id: "y" })])), ["y"]);
  });

  it("has titles on one line", () => {
    assert.equal(title(session({ title: "one\n two" })), "one two");
    assert.equal(title(session({ title: " \n" })), "Untitled");
    assert.equal(title(session({ title: "שלום 👩‍👩‍👧" })), "שלום 👩‍👩‍👧");
  });

  it("says what each does, where and when", () => {
    const now = Date.parse(at) + 5 * 60_000;
    assert.equal(description(session(), now), "Ready · local folder · 5 min ago");
    assert.equal(description(session(), now, "site"), "Ready · site · 5 min ago");
    assert.equal(
      description(session({ backend: { kind: "docker" } }), now, "site"),
      "Ready · Docker · site · 5 min ago",
    );
    const fork = session({
      forkedAtTurn: 3,
      backend: { kind: "docker" },
      state: { status: "waitingApproval", since: at },
    });
    assert.equal(description(fork, now), "from turn 3 · Asks you · Docker · 5 min ago");
  });

  it("has an icon for every state", () => {
    const statuses: Status[] = [
      "idle",
      "running",
      "waitingApproval",
      "paused",
      "switching",
      "recovering",
      "failed",
      "destroyed",
    ];
    for (const status of statuses) assert.match(icon({ state: { status, since: at } }).id, /^[a-z-]+(~spin)?$/);
  });

  it("says that nothing comes of a session, whatever it was doing", () => {
    const away = { ...session({ state: { status: "running", since: at } }), away: { reason: "no worker", since: at } };
    assert.match(description(away, Date.parse(at)), /^Away · /);
    assert.equal(icon(away).id, "debug-disconnect");
  });

  it("offers what fits", () => {
    assert.equal(contextValue(session()), "session");
    const running = session({ parentId: "a", state: { status: "running", since: at } });
    assert.equal(contextValue(running), "session;fork;busy");
  });

  it("tells times in words", () => {
    const ago = (ms: number) => agoText(at, Date.parse(at) + ms);
    const [minute, hour] = [60_000, 3_600_000];
    assert.deepEqual(
      [ago(-5), ago(0), ago(minute), ago(59 * minute), ago(hour), ago(47 * hour), ago(48 * hour)],
      ["now", "now", "1 min ago", "59 min ago", "1 h ago", "1 d ago", "2 d ago"],
    );
    assert.equal(agoText("never", 0), "now");
  });
});
