import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { EventMessage } from "../../../../editors/protocol";
import type { ToPage } from "../../../src/conversation/messages";
import { Outbox } from "../../../src/conversation/outbox";
import { applied, attached, emptyView, type SessionView } from "../../../src/model/session";
import { delta, snapshot, started } from "../model/make";

type Batch = Extract<ToPage, { type: "session" | "changes" }>;

describe("an outbox", () => {
  let posted: Batch[];
  let view: SessionView;
  let outbox: Outbox;
  /** The page: takes what was posted and acknowledges it. */
  let page: SessionView | undefined;

  beforeEach(() => {
    posted = [];
    view = attached(emptyView("s1"), snapshot(0, []));
    outbox = new Outbox(
      (message) => posted.push(message as Batch),
      () => view,
    );
  });

  function happens(message: EventMessage): void {
    view = applied(view, message);
    outbox.push({ kind: "event", message });
  }

  function draw(): void {
    const batch = posted.shift();
    assert.ok(batch);
    if (batch.type === "session") page = batch.view;
    else
      for (const change of batch.changes) page = page && change.kind === "event" ? applied(page, change.message) : page;
    outbox.acknowledge(batch.batch);
  }

  it("sends one batch at a time, with all that came meanwhile", () => {
    outbox.reset();
    happens(started(1));
    happens(delta(1, 0, "a"));
    assert.equal(posted.length, 1);
    draw();
    assert.equal(posted[0]?.type === "changes" && posted[0].changes.length, 2);
    draw();
    assert.deepEqual(page, view);
    assert.equal(posted.length, 0);
    happens(delta(1, 1, "b"));
    assert.equal(posted.length, 1, "what comes alone goes at once");
  });

  it("sends the session as it is when the page does not draw for long", () => {
    outbox.reset();
    happens(started(1));
    for (let n = 0; n < 5000; n++) happens(delta(1, n, "x".repeat(1000)));
    draw();
    assert.equal(posted[0]?.type, "session");
    draw();
    assert.deepEqual(page, view);
    assert.equal(posted.length, 0);
  });

  it("begins anew for a page that has begun anew", () => {
    outbox.reset();
    happens(started(1)); // the first page is gone before it has drawn
    posted = [];
    outbox.reset();
    assert.equal(posted[0]?.type, "session");
    draw();
    assert.deepEqual(page, view);
  });

  it("does not take an old page's word for the drawing of a new batch", () => {
    outbox.reset();
    outbox.acknowledge(99);
    outbox.reset();
    happens(started(1));
    assert.deepEqual(
      posted.map(({ type }) => type),
      ["session", "session"],
    );
  });
});
