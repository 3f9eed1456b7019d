import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AttachResult, EventMessage } from "../../../../editors/protocol";
import { endLimits } from "../../../src/model/items";
import type { SessionView } from "../../../src/model/session";
import { applied, attached, busy, cut, emptyView, withOlder } from "../../../src/model/session";
import { approval, at, completed, delta, item, message, missed, session, snapshot, started } from "./make";

function after(messages: EventMessage[], from: AttachResult = snapshot(0, [])): SessionView {
  return messages.reduce((view, m) => applied(view, m), attached(emptyView("s1"), from));
}

const ids = (view: SessionView): string => view.items.map((i) => i.id).join(" ");

describe("durable events", () => {
  it("count once, also when they come again", () => {
    const events = [started(1), completed(2, 1, { text: "Hello" })];
    const view = after([...events, ...events]);
    assert.equal(ids(view), "i1");
    assert.equal(view.items[0]?.text, "Hello");
    assert.equal(view.seq, 2);
  });

  it("change nothing at all when they are known", () => {
    const view = after([started(1)]);
    assert.equal(applied(view, started(1)), view);
  });

  it("of another session are not ours", () => {
    const view = after([]);
    assert.equal(applied(view, { ...started(1), sessionId: "s2" }), view);
  });

  it("are not applied behind a gap, which is told", () => {
    const view = after([started(1), started(3), started(4)]);
    assert.equal(view.missed, true);
    assert.equal(view.seq, 1);
    assert.equal(ids(view), "i1");
    const again = attached(view, missed(4, [started(2), started(3), started(4)]));
    assert.equal(again.missed, false);
    assert.equal(ids(again), "i1 i2 i3 i4");
  });

  it("of a newer server are counted and left alone", () => {
    const view = after([message(1, { type: "weather/changed" } as never), started(2)]);
    assert.equal(view.seq, 2);
    assert.equal(ids(view), "i2");
  });

  it("change what they say of the session, and nothing else of it", () => {
    const view = after([
      message(1, { type: "session/updated", session: session({ title: "New" }) }),
      message(2, { type: "backend/changed", backend: { kind: "docker" } }),
      message(3, { type: "state/changed", state: { status: "running", reason: "Waiting.", since: at } }),
      message(4, { type: "turn/started", turnId: 7 }),
      message(5, { type: "checkpoint/created", checkpoint: { id: "c1", turnId: 7, itemId: "i1", at, summary: "" } }),
      message(6, { type: "queue/changed", queued: [{ itemId: "i9", text: "next", at }] }),
    ]);
    assert.equal(view.session?.title, "New");
    assert.equal(view.session.backend.kind, "docker");
    assert.equal(view.session.turnId, 7);
    assert.equal(view.session.checkpointId, "c1");
    assert.equal(view.state.reason, "Waiting.");
    assert.equal(view.queued.length, 1);
    assert.equal(busy(view), true);
  });
});

describe("approvals", () => {
  it("are pending from their request to their answer, each once", () => {
    const asked = message(1, { type: "approval/requested", approval: approval("a1") });
    const other = message(2, { type: "approval/requested", approval: approval("a2") });
    const view = after([asked, other]);
    assert.deepEqual(
      view.pendingApprovals.map((a) => a.id),
      ["a1", "a2"],
    );
    const resolved = message(3, { type: "approval/resolved", approval: approval("a1", { decision: "allow" }) });
    assert.deepEqual(
      applied(view, resolved).pendingApprovals.map((a) => a.id),
      ["a2"],
    );
  });

  it("are those of the answer to attach, whatever the events said", () => {
    const asked = message(1, { type: "approval/requested", approval: approval("a1") });
    const view = attached(after([asked]), missed(1, [], { pendingApprovals: [approval("a2")] }));
    assert.deepEqual(
      view.pendingApprovals.map((a) => a.id),
      ["a2"],
    );
  });
});

describe("deltas", () => {
  const text = (view: SessionView, id = "i1"): string | undefined => view.live[id]?.text;

  it("make the text of an item, each once", () => {
    const view = after([started(1), delta(1, 0, "Hel"), delta(1, 1, "lo"), delta(1, 1, "lo"), delta(1, 0, "Hel")]);
    assert.equal(text(view), "Hello");
  });

  it("that come out of order show where one is missing, and the late one is left out", () => {
    const view = after([started(1), delta(1, 0, "a"), delta(1, 2, "c"), delta(1, 1, "b")]);
    assert.equal(text(view), "a…\nc");
    assert.equal(view.live.i1?.lost, true);
  });

  it("are counted by stream", () => {
    const view = after([
      started(1),
      delta(1, 0, "thought", { stream: "reasoning" }),
      delta(1, 0, "out", { stream: "stdout" }),
      delta(1, 0, "err", { stream: "stderr" }),
      delta(1, 0, "said"),
    ]);
    assert.equal(view.live.i1?.reasoning, "thought");
    assert.equal(view.live.i1.output, "outerr");
    assert.equal(view.live.i1.text, "said");
  });

  it("of a higher attempt void the text of lower ones", () => {
    const two = (n: number, data: string): EventMessage => delta(1, n, data, { attempt: 2 });
    const view = after([started(1), delta(1, 0, "wrong"), two(0, "right"), delta(1, 1, " again"), two(1, "!")]);
    assert.equal(text(view), "right!");
  });

  it("change nothing durable, and nothing at all when they are late", () => {
    const view = after([started(1), completed(2, 1, { text: "Done" })]);
    assert.equal(applied(view, delta(1, 0, "late")), view);
    assert.equal(applied(view, delta(5, 0, "unknown")), view);
  });

  it("carry bytes that are no text", () => {
    const view = after([
      started(1),
      delta(1, 0, Buffer.from("ä\xff", "latin1").toString("base64"), { encoding: "base64" }),
    ]);
    assert.equal(text(view), "\uFFFD\uFFFD");
  });

  it("keep the end of much output", () => {
    let view = after([started(1)]);
    for (let n = 0; n < 1000; n++) view = applied(view, delta(1, n, `${n}\n`.padStart(1000), { stream: "stdout" }));
    const output = view.live.i1?.output ?? "";
    assert.ok(output.length <= 64 * 1024, `${output.length}`);
    assert.ok(output.endsWith("999\n"));
  });
});

describe("what is completed", () => {
  it("is final: it replaces what was streamed", () => {
    const view = after([started(1), delta(1, 0, "draft"), completed(2, 1, { text: "final" })]);
    assert.equal(view.items[0]?.text, "final");
    assert.deepEqual(view.live, {});
  });

  it("without its start is there all the same", () => {
    assert.equal(ids(after([completed(1, 1)])), "i1");
  });

  it("has its whole text when all of it was streamed", () => {
    const view = after([
      started(1),
      delta(1, 0, "whole "),
      delta(1, 1, "text"),
      completed(2, 1, { text: "whole", textBytes: 10 }),
    ]);
    const done = view.items[0];
    assert.ok(done);
    assert.equal(done.text, "whole text");
    assert.equal(cut(done), false);
  });

  it("stays cut when a piece was lost or something else was streamed", () => {
    for (const pieces of [[delta(1, 1, "whole text")], [delta(1, 0, "other text")]]) {
      const view = after([started(1), ...pieces, completed(2, 1, { text: "whole", textBytes: 10 })]);
      const done = view.items[0];
      assert.ok(done);
      assert.equal(done.text, "whole");
      assert.equal(cut(done), true);
    }
  });

  it("stays cut when a piece of as many bytes stands where one was lost", () => {
    const view = after([
      started(1),
      delta(1, 0, "ab"),
      delta(1, 2, "cd"),
      completed(2, 1, { text: "ab", textBytes: 8 }),
    ]);
    assert.equal(view.items[0]?.text, "ab");
  });
});

describe("attaching again", () => {
  it("takes what was missed, once, and what flows on", () => {
    const before = after([started(1), completed(2, 1)]);
    const answer = missed(4, [completed(2, 1), started(3), completed(4, 3, { text: "x" })]);
    const view = applied(attached(before, answer), started(5));
    assert.equal(ids(view), "i1 i3 i5");
    assert.equal(view.seq, 5);
  });

  it("shows what was streamed until the new attachment sends it from its beginning", () => {
    const before = after([started(1), delta(1, 0, "one "), delta(1, 1, "two ")]);
    const view = attached(before, missed(1, []));
    assert.equal(view.live.i1?.text, "one two ");
    const again = applied(view, delta(1, 0, "one two three "));
    assert.equal(again.live.i1?.text, "one two three ");
    assert.equal(applied(again, delta(1, 1, "four")).live.i1?.text, "one two three four");
  });

  it("does not take old streams for the whole text", () => {
    const before = after([started(1), delta(1, 0, "whole text")]);
    const view = attached(before, missed(2, [completed(2, 1, { text: "whole", textBytes: 10 })]));
    assert.equal(view.items[0]?.text, "whole");
  });

  it("with a snapshot replaces everything, also from a smaller seq", () => {
    const before = after([
      started(1),
      delta(1, 0, "old"),
      message(2, { type: "turn/completed", turnId: 1, status: "failed", message: "Broken.", usage: session().usage }),
    ]);
    const view = attached(before, snapshot(1, [item(1, { text: "new" })]));
    assert.equal(view.seq, 1);
    assert.equal(view.items[0]?.text, "new");
    assert.deepEqual(view.live, {});
    assert.deepEqual(view.failures, {});
    assert.equal(applied(view, started(2)).seq, 2);
  });

  it("is still missed when the events do not follow what is known", () => {
    const view = attached(after([started(1)]), missed(9, [started(9)]));
    assert.equal(view.missed, true);
    assert.equal(view.seq, 1);
    assert.equal(attached(view, snapshot(9, [])).missed, false);
  });
});

describe("failures", () => {
  it("are told with their remedy, by turn", () => {
    const error = { code: "modelUnavailable" as const, retryable: false, remedy: "Set a key." };
    const view = after([
      message(1, {
        type: "turn/completed",
        turnId: 3,
        status: "failed",
        message: "No key.",
        error,
        usage: session().usage,
      }),
    ]);
    assert.deepEqual(view.failures, { 3: { message: "No key.", remedy: "Set a key." } });
  });

  it("are known from the state of a snapshot", () => {
    const state = { status: "failed" as const, reason: "No key.", since: at };
    const view = attached(emptyView("s1"), snapshot(1, [], { state }));
    assert.deepEqual(view.failures, { 1: { message: "No key." } });
  });
});

describe("the order of items", () => {
  it("has a request that waited after the turn it waited for", () => {
    const view = after([
      started(1),
      started(2, { kind: "userMessage", turnId: 2, queued: true }),
      started(3),
      completed(4, 2, { turnId: 2 }),
    ]);
    assert.equal(ids(view), "i1 i3 i2");
    assert.equal(ids(after([], snapshot(3, [item(1), item(2, { turnId: 2 }), item(3)]))), "i1 i3 i2");
  });

  it("has a thought before the message it led to", () => {
    const view = after([started(1, { kind: "toolCall" }), started(2), started(3, { kind: "reasoning" })]);
    assert.equal(ids(view), "i1 i3 i2");
  });
});

describe("older items", () => {
  const full = Array.from({ length: endLimits.items }, (_, i) => item(i + 1));

  it("go when there are too many, and can be read again", () => {
    const view = after([started(full.length + 1)], snapshot(full.length, full, { before: "cursor" }));
    assert.equal(view.items.length, endLimits.items / 2);
    assert.equal(view.items.at(-1)?.id, `i${full.length + 1}`);
    assert.equal(view.older, true);
    assert.equal(view.before, undefined);
  });

  it("stay while somebody reads them", () => {
    const view = applied(after([], snapshot(full.length, full)), started(full.length + 1), "above");
    assert.equal(view.items.length, full.length + 1);
  });

  it("come in front, without those that are known", () => {
    const view = after([], snapshot(5, [item(4), item(5)], { before: "c" }));
    const more = withOlder(view, [item(2), item(3), item(4)], "b");
    assert.equal(ids(more), "i2 i3 i4 i5");
    assert.equal(more.before, "b");
    assert.equal(withOlder(more, [item(1)], undefined).older, false);
  });

  it("drive out the newest when there are far too many, and new ones then stay away", () => {
    const text = "x".repeat(1024 * 1024);
    const many = Array.from({ length: 60 }, (_, i) => item(i + 101, { text }));
    const view = withOlder(
      after([], snapshot(160, many, { before: "c" })),
      Array.from({ length: 100 }, (_, i) => item(i + 1, { text })),
      "b",
    );
    assert.equal(view.newerCut, true);
    assert.equal(view.items.length, 100);
    const next = applied(applied(view, started(161), "above"), completed(162, 50, { text: "new" }), "above");
    assert.equal(next.items.length, 100);
    assert.equal(next.items[49]?.text, "new");
    assert.equal(next.seq, 162);
    assert.equal(attached(next, snapshot(162, [item(161)])).newerCut, false);
  });
});

describe("the plan", () => {
  const plan = (...steps: [string, string][]): string =>
    JSON.stringify({ plan: steps.map(([step, status]) => ({ step, status })) });
  const call = { kind: "toolCall" as const, tool: "update_plan" };

  it("is the latest one", () => {
    const view = after([
      started(1, { ...call, arguments: plan(["read", "in_progress"]) }),
      started(2, { ...call, arguments: plan(["read", "completed"], ["write", "pending"]) }),
      started(3),
    ]);
    assert.deepEqual(view.plan?.steps, [
      { text: "read", status: "completed" },
      { text: "write", status: "pending" },
    ]);
  });

  it("is found in a snapshot, and stays when arguments were cut or failed", () => {
    const good = item(1, { ...call, arguments: plan(["read", "pending"]) });
    const bad = [
      item(2, { ...call, arguments: good.arguments?.slice(0, 20) ?? "" }),
      item(3, { ...call, arguments: '{"plan": [{"step": 1}]}' }),
      item(4, { ...call, arguments: plan(["no", "pending"]), status: "failed" }),
    ];
    assert.equal(after([], snapshot(4, [good, ...bad])).plan?.steps[0]?.text, "read");
  });
});
