// One session as a client sees it: a pure reducer of snapshots, events and deltas. Host and webview share it, so both always
// agree. It keeps the guarantees of the protocol: durable events count once and in order, whatever is completed is final, a
// higher attempt voids the text of lower ones, and a snapshot replaces all that was known.
import type {
  Approval,
  AttachResult,
  BackgroundCommand,
  ConnectionChangedEvent,
  Event,
  EventMessage,
  Item,
  ItemDeltaEvent,
  QueuedMessage,
  Session,
  State,
  TurnCompletedEvent,
} from "../../../editors/protocol";
import { arranged, endLimits, exceeds, indexOf, joined, newest, oldest, readingLimits, withItem } from "./items";
import type { Live } from "./live";
import { grown, utf8Length } from "./live";
import type { Plan } from "./plan";
import { planOf } from "./plan";

/** Why a turn failed. */
export interface Failure {
  readonly message: string;
  readonly remedy?: string;
}

/** Why nothing comes of a session: who is missing, and since when. */
export interface Away {
  readonly reason: string;
  readonly remedy?: string;
  readonly since: string;
}

/** What is known of a session. Values are never changed, so what is the same object looks the same. */
export interface SessionView {
  readonly id: string;
  /** Absent before the first snapshot. */
  readonly session?: Session;
  readonly state: State;
  /** The server cannot follow the session, or its turn has no worker. What is known stays true as of then. */
  readonly away?: Away | undefined;
  /** Of the last durable event that is known. */
  readonly seq: number;
  /** Events were lost: attach again from seq. */
  readonly missed: boolean;
  /** In the order of the screen: without a gap, up to the newest unless newerCut. */
  readonly items: readonly Item[];
  /** There are items before the first one; they are read with the cursor, or from the newest on if there is none. */
  readonly older: boolean;
  readonly before: string | undefined;
  /** Items at the end were let go because somebody reads far from there. */
  readonly newerCut: boolean;
  readonly live: Readonly<Record<string, Live>>;
  /** Oldest first. */
  readonly pendingApprovals: readonly Approval[];
  readonly queued: readonly QueuedMessage[];
  /** Commands that go on in the background, oldest first. */
  readonly background: readonly BackgroundCommand[];
  readonly plan: Plan | undefined;
  /** By turn; only of the newest ones. */
  readonly failures: Readonly<Record<number, Failure>>;
}

const keptFailures = 50;

/** A session of which nothing is known but its id. */
export function emptyView(id: string): SessionView {
  return {
    id,
    state: { status: "idle", since: "" },
    seq: 0,
    missed: false,
    items: [],
    older: false,
    before: undefined,
    newerCut: false,
    live: {},
    pendingApprovals: [],
    queued: [],
    background: [],
    plan: undefined,
    failures: {},
  };
}

/** Reports whether a turn runs or waits, so that what is asked now is queued. */
export function busy(view: SessionView): boolean {
  return ["running", "waitingApproval", "switching", "recovering"].includes(view.state.status);
}

/** Where a conversation is read: at its end, so that old items may go, or above, where nothing may move. */
export type Reader = "end" | "above";

/** Takes the answer to attach: a snapshot, or what was missed. When the view is missed even then, only a snapshot helps. */
export function attached(view: SessionView, result: AttachResult, reader: Reader = "end"): SessionView {
  let next: SessionView = { ...view, missed: false, live: stale(view.live), away: undefined };
  if (result.items) next = snapshot(next, result);
  for (const message of result.events ?? []) next = applied(next, message, reader);
  if (next.missed) return next;
  next = {
    ...next,
    session: result.session,
    state: result.state,
    seq: result.items ? result.seq : Math.max(next.seq, result.seq),
    pendingApprovals: result.pendingApprovals,
    queued: result.queued,
    background: result.background,
  };
  return withStateFailure(next);
}

function snapshot(view: SessionView, result: AttachResult): SessionView {
  const items = arranged(result.items ?? []);
  return {
    ...view,
    seq: result.seq,
    items,
    older: Boolean(result.before),
    before: result.before || undefined,
    newerCut: false,
    live: {},
    plan: items.reduce<Plan | undefined>((found, item) => planOf(item) ?? found, undefined),
    failures: {},
  };
}

/** A new attachment sends what is being made from its beginning. */
function stale(live: SessionView["live"]): SessionView["live"] {
  return Object.fromEntries(Object.entries(live).map(([id, known]) => [id, { ...known, stale: true }]));
}

/** A snapshot does not tell why the last turn failed, but its state does. */
function withStateFailure(view: SessionView): SessionView {
  const turn = view.session?.turnId ?? 0;
  if (view.state.status !== "failed" || view.failures[turn] || !view.state.reason) return view;
  return withFailure(view, turn, view.state.reason, view.state.remedy);
}

function withFailure(view: SessionView, turn: number, message: string, remedy: string | undefined): SessionView {
  const failures = { ...view.failures, [turn]: { message, ...(remedy ? { remedy } : {}) } };
  const newestOnes = Object.entries(failures).slice(-keptFailures); // numbers come in their order
  return { ...view, failures: Object.fromEntries(newestOnes) };
}

/**
 * Applies one event. A durable one that is known changes nothing; one that comes too early is not applied but makes the view
 * missed, and so does all that follows until attached.
 */
export function applied(view: SessionView, message: EventMessage, reader: Reader = "end"): SessionView {
  if (message.sessionId !== view.id) return view;
  if (message.event.type === "item/delta") return withDelta(view, message.event);
  if (message.event.type === "connection/changed") return withConnection(view, message.event);
  if (message.seq <= view.seq) return view;
  if (message.seq > view.seq + 1) return view.missed ? view : { ...view, missed: true };
  return { ...changed(view, message.event, reader), seq: message.seq };
}

type DurableEvent = Exclude<Event, ItemDeltaEvent | ConnectionChangedEvent>;

function changed(view: SessionView, event: DurableEvent, reader: Reader): SessionView {
  switch (event.type) {
    case "session/updated":
      return { ...view, session: event.session };
    case "state/changed":
      return withSession({ ...view, state: event.state }, { state: event.state });
    case "backend/changed":
      return withSession(view, { backend: event.backend });
    case "usage/updated":
      return withSession(view, { usage: event.usage });
    case "checkpoint/created":
      return withSession(view, { checkpointId: event.checkpoint.id });
    case "queue/changed":
      return { ...view, queued: event.queued };
    case "background/changed":
      return { ...view, background: event.background };
    case "turn/started":
      return withSession(view, { turnId: event.turnId });
    case "turn/completed":
      return turnCompleted(view, event);
    case "item/started":
      return withChangedItem(view, event.item, reader);
    case "item/completed":
      return itemCompleted(view, event.item, reader);
    case "approval/requested":
      return { ...view, pendingApprovals: [...without(view.pendingApprovals, event.approval.id), event.approval] };
    case "approval/resolved":
      return { ...view, pendingApprovals: without(view.pendingApprovals, event.approval.id) };
    default:
      return view; // an event of a newer server
  }
}

/** The state that comes with the connection is the session's own, where attach had told what it waits for instead. */
function withConnection(view: SessionView, event: ConnectionChangedEvent): SessionView {
  const { connected, reason = "", remedy, since, state } = event;
  if (!connected) return { ...view, away: { reason, since, ...(remedy && { remedy }) } };
  const next = { ...view, away: undefined };
  return state ? withSession({ ...next, state }, { state }) : next;
}

function withSession(view: SessionView, change: Partial<Session>): SessionView {
  return view.session ? { ...view, session: { ...view.session, ...change } } : view;
}

function without(approvals: readonly Approval[], id: string): readonly Approval[] {
  return approvals.filter((approval) => approval.id !== id);
}

function turnCompleted(view: SessionView, event: TurnCompletedEvent): SessionView {
  if (event.status !== "failed") return view;
  const message = event.message || view.state.reason || "";
  return withFailure(view, event.turnId, message, event.error?.remedy ?? view.state.remedy);
}

function withChangedItem(view: SessionView, item: Item, reader: Reader): SessionView {
  const plan = planOf(item);
  const next = plan ? { ...view, plan } : view;
  const isNew = indexOf(view.items, item.id) < 0;
  if (isNew && view.newerCut) return next;
  if (isNew && reader === "above" && exceeds(view.items, readingLimits)) return { ...next, newerCut: true };
  const items = withItem(view.items, item);
  return isNew && reader === "end" ? trimmed({ ...next, items }) : { ...next, items };
}

function itemCompleted(view: SessionView, item: Item, reader: Reader): SessionView {
  const next = withChangedItem(view, completed(item, view.live[item.id]), reader);
  if (!view.live[item.id]) return next;
  return { ...next, live: Object.fromEntries(Object.entries(view.live).filter(([id]) => id !== item.id)) };
}

/** The item with its whole text, if that was cut and all of it was streamed. */
function completed(item: Item, live: Live | undefined): Item {
  if (!live || live.lost || live.stale || !item.textBytes || item.textBytes !== live.textBytes) return item;
  const text = item.text ?? "";
  if (utf8Length(text) >= item.textBytes || !live.text.startsWith(text)) return item;
  return { ...item, text: live.text };
}

/** Reports whether only the beginning of an item's text is here; the rest is read with readOutput. */
export function cut(item: Item): boolean {
  return (item.textBytes ?? 0) > utf8Length(item.text ?? "");
}

function withDelta(view: SessionView, delta: ItemDeltaEvent): SessionView {
  const item = view.items[indexOf(view.items, delta.itemId)];
  if (item?.status !== "inProgress") return view; // it is complete, or so far from here that nobody sees it
  const known = view.live[delta.itemId];
  const live = grown(known, delta);
  return live === known || !live ? view : { ...view, live: { ...view.live, [delta.itemId]: live } };
}

/** Lets the oldest items go when there are too many for somebody who reads at the end. */
export function trimmed(view: SessionView): SessionView {
  if (!exceeds(view.items, endLimits)) return view;
  return { ...view, items: newest(view.items, endLimits), older: true, before: undefined };
}

/**
 * Puts a page of history in front. Items that are known stay as they are. When there are too many, the newest are let go:
 * whoever reads here is far from them.
 */
export function withOlder(view: SessionView, items: readonly Item[], before: string | undefined): SessionView {
  const known = new Set(view.items.map((item) => item.id));
  const page = arranged(items.filter((item) => !known.has(item.id)));
  const all = joined(page, view.items);
  const kept = oldest(all, readingLimits);
  return {
    ...view,
    items: kept,
    older: Boolean(before),
    before: before || undefined,
    newerCut: view.newerCut || kept.length < all.length,
  };
}
