// What the extension and the conversation's page say to each other. Both sides check what comes in against these shapes.
import type { AttachResult, EventMessage, Item, ReadOutputParams } from "../../../editors/protocol";
import type { SessionView } from "../model/session";
import { bool, count, dictionary, list, object, optional, text, trusted, word, type Of, type Shape } from "./shape";

const maxId = 300;
const maxText = 512 * 1024;
const maxPath = 8192;

const id = text(maxId);

/** A command of the slash kind, for completion. */
export interface SlashCommand {
  readonly name: string;
  /** How its argument is called, e.g. "title"; absent: it has none. */
  readonly argument?: string | undefined;
  readonly description: string;
}

/** What the page may have the extension run: commands of its own, with the session as their argument. */
export const pageCommands = [
  "switchBackend",
  "forkSession",
  "renameSession",
  "configureSession",
  "newSession",
  "showSessions",
  "showDiff",
  "setApiKey",
  "doctor",
  "showLogs",
] as const;
export type PageCommand = (typeof pageCommands)[number];

/** Why something cannot be, and what to do. */
const problem = object({ message: text(maxText), remedy: optional(text(maxText)) });
export type Problem = Of<typeof problem>;

/** What stands between the user and a conversation; action is what the way out of it is called. */
const hint = object({ message: text(maxText), action: optional(text(200)) });
export type Hint = Of<typeof hint>;

/** Whether the events of the session flow. */
const connection = object({ connected: bool, problem: optional(text(maxText)) });
export type Connection = Of<typeof connection>;

/** The backend and the model that a new session gets. */
const fresh = object({ backend: text(100), model: text(1000) });
export type Fresh = Of<typeof fresh>;

const streams = [
  "stdout",
  "stderr",
  "text",
  "diff",
  "arguments",
] as const satisfies readonly ReadOutputParams["stream"][];

/** The calls that the page makes, by name: the shape of what it gives. What it gets is in Answers. */
export const calls = {
  /** Asks; without a session, the latest of the folder or a new one is meant. */
  ask: object({ sessionId: optional(id), text: text(maxText), requestId: id }),
  /** Asks again what the user has asked in an item. */
  askAgain: object({ sessionId: id, itemId: id, requestId: id }),
  steer: object({ sessionId: id, text: text(maxText), requestId: id }),
  stop: object({ sessionId: id, turnId: count }),
  /** Ends one command, of a running call or in the background. */
  stopCommand: object({ sessionId: id, itemId: id }),
  queuedText: object({ sessionId: id, itemId: id }),
  editQueued: object({ sessionId: id, itemId: id, text: text(maxText) }),
  removeQueued: object({ sessionId: id, itemId: id }),
  /** Sends a request that waits to the running turn instead. */
  steerQueued: object({ sessionId: id, itemId: id }),
  answer: object({
    sessionId: id,
    approvalId: id,
    decision: word("allow", "allowAlways", "deny"),
    pattern: optional(text(maxText)),
    scope: optional(word("session", "workspace")),
    feedback: optional(text(maxText)),
  }),
  /** Reads a range of what an item's preview left out. */
  read: object({ sessionId: id, itemId: id, stream: word(...streams), offset: count }),
  /** Shows all of it in an editor. */
  show: object({ sessionId: id, itemId: id, stream: word(...streams) }),
  older: object({ sessionId: id, before: optional(text(maxPath)), first: count }),
  /** Has the extension send the session again as it is at its end. */
  newest: object({ sessionId: id }),
  /** Looks for files and other things to mention. */
  mentions: object({ query: text(maxPath) }),
  /** Completes the argument of a slash command. */
  slashArguments: object({ sessionId: optional(id), name: text(100), lead: text(maxPath) }),
  slash: object({ sessionId: optional(id), line: text(maxText) }),
  run: object({ sessionId: optional(id), command: word(...pageCommands) }),
  /** Does what the hint offers. */
  resolve: object({}),
  /** Opens a link of a message. */
  link: object({ sessionId: optional(id), href: text(maxPath) }),
  /** Opens a file of the workspace. */
  file: object({ sessionId: id, path: text(maxPath), line: optional(count) }),
  copy: object({ text: text(8 * 1024 * 1024) }),
  /** Puts code into the editor, where its cursor is. */
  insertCode: object({ text: text(maxText) }),
} as const;

export type CallName = keyof typeof calls;
export type Given<C extends CallName> = Of<(typeof calls)[C]>;

/** Something to write after "@". */
const mention = object({ text: text(maxPath), label: text(maxPath), detail: optional(text(maxPath)) });
export type Mention = Of<typeof mention>;

const done: Shape<object> = trusted<object>();

/** The shapes of what the calls answer. */
export const answers = {
  ask: object({ sessionId: id, queued: bool }),
  askAgain: object({ queued: bool }),
  steer: done,
  stop: done,
  stopCommand: object({ already: bool }),
  queuedText: object({ text: text(maxText) }),
  editQueued: done,
  removeQueued: done,
  steerQueued: object({ queued: bool }),
  answer: object({ already: bool, decidedBy: text(maxText), decision: text(100) }),
  read: object({ text: text(maxText), end: count, total: count }),
  show: done,
  older: object({ items: list(trusted<Item>("id", "seq", "kind", "status"), 10_000), before: optional(text(maxPath)) }),
  newest: done,
  mentions: object({ mentions: list(mention, 200) }),
  slashArguments: object({ words: list(text(maxPath), 200) }),
  slash: object({ refused: optional(text(maxText)) }),
  run: done,
  resolve: done,
  link: done,
  file: done,
  copy: done,
  insertCode: done,
} as const satisfies Record<CallName, Shape<object>>;

export type Answer<C extends CallName> = Of<(typeof answers)[C]>;

const fromPage = {
  /** The page has begun, or begun anew: it knows nothing. */
  ready: object({}),
  /** It has drawn a batch; the next one may come. */
  drawn: object({ batch: count }),
  call: object({ id: count, name: word(...(Object.keys(calls) as CallName[])), given: object({}) }),
} as const;

/** A message of the page. */
export type FromPage = {
  [T in keyof typeof fromPage]: { readonly type: T } & Of<(typeof fromPage)[T]>;
}[keyof typeof fromPage];

/** What happened to the session that is shown. */
export type Change = { kind: "attached"; result: AttachResult } | { kind: "event"; message: EventMessage };

const change: Shape<Change> = (value): value is Change =>
  object({ kind: word("attached"), result: trusted<AttachResult>("session", "state", "seq") })(value) ||
  object({ kind: word("event"), message: trusted<EventMessage>("sessionId", "seq", "event") })(value);

const toPage = {
  /** Once, in answer to ready. */
  hello: object({
    texts: optional(dictionary),
    slash: list(object({ name: text(100), argument: optional(text(100)), description: text(1000) }), 200),
  }),
  /** The session as it is; without one there is none. It counts as a batch. */
  session: object({
    batch: count,
    view: optional(trusted<SessionView>("id", "items", "live", "pendingApprovals", "queued", "background", "failures")),
  }),
  /** What came since. */
  changes: object({ batch: count, changes: list(change, 100_000) }),
  connection: object({ connection }),
  hint: object({ hint: optional(hint) }),
  /** What a new session would have. */
  fresh,
  reply: object({ id: count, answer: optional(object({})), problem: optional(problem) }),
  /** Puts text into the input. */
  insert: object({ text: text(maxText) }),
  focus: object({}),
} as const;

/** A message to the page. */
export type ToPage = { [T in keyof typeof toPage]: { readonly type: T } & Of<(typeof toPage)[T]> }[keyof typeof toPage];

function fits(shapes: Record<string, Shape<unknown>>, value: unknown): boolean {
  const type = typeof value === "object" && value !== null ? (value as { type?: unknown }).type : undefined;
  return typeof type === "string" && Object.hasOwn(shapes, type) && Boolean(shapes[type]?.(value));
}

/** A message that came from the page; undefined when it is none. */
export function messageFromPage(value: unknown): FromPage | undefined {
  return fits(fromPage, value) ? (value as FromPage) : undefined;
}

/** A message that came to the page; undefined when it is none. */
export function messageToPage(value: unknown): ToPage | undefined {
  return fits(toPage, value) ? (value as ToPage) : undefined;
}
