import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConnectionChangedEvent, EventMessage } from "../../../../editors/protocol";
import { applied, attached, emptyView, type SessionView } from "../../../src/model/session";
import { awayText } from "../../../src/model/text";
import { statusOf } from "../../../src/status";
import { capabilities } from "../rpc";
import { at, message, missed, session, snapshot, started } from "./make";

const running = { status: "running", since: at } as const;
const recovering = { status: "recovering", reason: "no worker is polling", since: at } as const;

function connection(seq: number, change: Omit<ConnectionChangedEvent, "type" | "since">): EventMessage {
  return message(seq, { type: "connection/changed", since: at, ...change });
}

const lost = connection(1, {
  connected: false,
  reason: "no worker is running",
  remedy: "Run: sandbox-agent worker start",
});
const back = connection(1, { connected: true, state: running });

function view(...messages: EventMessage[]): SessionView {
  const from = snapshot(0, [], { session: session({ state: recovering }), state: recovering });
  return [started(1), ...messages].reduce((known, m) => applied(known, m), attached(emptyView("s1"), from));
}

describe("the connection of a session", () => {
  it("is told without being an event of its own", () => {
    const known = view(lost, started(2));
    assert.deepEqual(known.away, {
      reason: "no worker is running",
      remedy: "Run: sandbox-agent worker start",
      since: at,
    });
    assert.equal(known.seq, 2);
    assert.equal(known.missed, false);
  });

  it("brings the session's own state when it is back", () => {
    const known = view(lost, lost, back);
    assert.equal(known.away, undefined);
    assert.equal(known.state.status, "running");
    assert.equal(known.session?.state.status, "running");
  });

  it("is taken to be well after attaching", () => {
    assert.equal(attached(view(lost), missed(1, [])).away, undefined);
  });

  it("is said with what helps, in the status bar too", () => {
    const away = view(lost);
    const text = "No worker is running. Run: sandbox-agent worker start";
    assert.equal(away.away && awayText(away.away), text);
    const status = statusOf(away, { kind: "ready", capabilities }, 0);
    assert.equal(status.text, "$(debug-disconnect) Away · local folder");
    assert.ok(status.tooltip.includes(text));
    assert.equal(status.level, "warning");
  });
});
