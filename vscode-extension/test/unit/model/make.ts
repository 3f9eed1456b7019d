// Makes what a server would send.
import type {
  Approval,
  AttachResult,
  Event,
  EventMessage,
  Item,
  ItemDeltaEvent,
  Session,
} from "../../../../editors/protocol";

export const at = "2026-01-02T03:04:05Z";
const usage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, modelCalls: 0, cost: 0 };

export function session(change: Partial<Session> = {}): Session {
  return {
    id: "s1",
    title: "A title",
    titleSource: "generated",
    workspaceFolder: "file:///w",
    backend: { kind: "local" },
    model: "demo",
    approvalMode: "ask",
    createdAt: at,
    updatedAt: at,
    state: { status: "idle", since: at },
    turnId: 1,
    hostId: "h",
    usage,
    ...change,
  };
}

export function item(seq: number, change: Partial<Item> = {}): Item {
  return { id: `i${seq}`, turnId: 1, seq, kind: "agentMessage", status: "completed", at, ...change };
}

export function approval(id: string, change: Partial<Approval> = {}): Approval {
  const asked = {
    itemId: "i1",
    turnId: 1,
    tool: "exec_command",
    subject: "make",
    reason: "It writes.",
    options: ["allow", "deny"],
    at,
  };
  return { id, ...asked, ...change };
}

function answer(seq: number, change: Partial<AttachResult>): AttachResult {
  const s = session();
  return { session: s, state: s.state, seq, pendingApprovals: [], queued: [], background: [], ...change };
}

export function snapshot(seq: number, items: Item[], change: Partial<AttachResult> = {}): AttachResult {
  return answer(seq, { items, ...change });
}

export function missed(seq: number, events: EventMessage[], change: Partial<AttachResult> = {}): AttachResult {
  return answer(seq, { events, ...change });
}

export function message(seq: number, event: Event): EventMessage {
  return { sessionId: "s1", seq, at, event };
}

export function started(seq: number, change: Partial<Item> = {}): EventMessage {
  return message(seq, { type: "item/started", item: item(seq, { status: "inProgress", ...change }) });
}

/** Completes the item that began at start. */
export function completed(seq: number, start: number, change: Partial<Item> = {}): EventMessage {
  return message(seq, { type: "item/completed", item: item(start, change) });
}

/** A piece of the item that began at start. */
export function delta(start: number, n: number, data: string, change: Partial<ItemDeltaEvent> = {}): EventMessage {
  return message(start, {
    type: "item/delta",
    itemId: `i${start}`,
    attempt: 1,
    n,
    stream: "text",
    data,
    encoding: "utf8",
    ...change,
  });
}
