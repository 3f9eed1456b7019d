import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Provider } from "../../src/sessions/view";
import { session } from "./model/make";

describe("the view of sessions", () => {
  const running = { status: "running" as const, reason: "Running make", since: "" };

  it("tells VS Code of a session that looks different, of all when there are others, and else of nothing", () => {
    const list = { sessions: [session({ id: "a" }), session({ id: "b", parentId: "a" }), session({ id: "c" })] };
    const provider = new Provider(list);
    const told: unknown[] = [];
    provider.onDidChangeTreeData((nodes) => told.push(nodes?.map(({ sessionId }) => sessionId)));

    list.sessions = list.sessions.map((one) => ({ ...one, usage: { ...one.usage, inputTokens: 9 } }));
    provider.changed();
    assert.deepEqual(told, [], "its usage is not shown");

    const known = provider.find("b");
    list.sessions = list.sessions.map((one) => (one.id === "b" ? { ...one, state: running } : one));
    provider.changed();
    assert.deepEqual(told, [["b"]]);
    assert.equal(provider.find("b"), known, "VS Code knows it by its object");

    list.sessions = [session({ id: "d" }), ...list.sessions];
    provider.changed();
    assert.deepEqual(told, [["b"], undefined]);
    assert.deepEqual(
      provider.getChildren().map(({ sessionId }) => sessionId),
      ["d", "a", "c"],
    );
  });
});
