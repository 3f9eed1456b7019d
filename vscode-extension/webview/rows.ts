// The rows of a conversation: a long message is several, so that only what is on the screen exists. Rows of what has not
// changed are the same objects as before, so that nothing of them is drawn anew.
import type { Approval, Item } from "../../editors/protocol";
import { planTool } from "../src/model/plan";
import type { Live } from "../src/model/live";
import { busy, type Failure, type SessionView } from "../src/model/session";
import type { Row } from "./list/layout";
import { Blocks, type Group } from "./markdown/blocks";

/** What was read of an item beyond its preview, by readOutput. */
export interface Reading {
  readonly text: string;
  /** Of the whole; 0 while nothing has come. */
  readonly total: number;
  /** Where the next range begins, in bytes. */
  readonly end: number;
  readonly loading: boolean;
  readonly problem?: string;
}

export type ConversationRow = Row &
  (
    | { readonly kind: "older" | "newer" }
    | { readonly kind: "user"; readonly item: Item; readonly opened: boolean; readonly reading: Reading | undefined }
    /** A part of what the agent says. */
    | {
        readonly kind: "text";
        readonly item: Item;
        readonly group: Group;
        readonly first: boolean;
        readonly last: boolean;
        readonly whole: string;
      }
    /** What it says is longer than what is here. */
    | { readonly kind: "rest"; readonly item: Item; readonly reading: Reading | undefined }
    | { readonly kind: "thinking"; readonly item: Item; readonly live: Live | undefined }
    | { readonly kind: "reasoning"; readonly item: Item; readonly opened: boolean }
    | {
        readonly kind: "tool";
        readonly item: Item;
        readonly live: Live | undefined;
        readonly approval: Approval | undefined;
        readonly opened: boolean;
        readonly reading: Reading | undefined;
      }
    | { readonly kind: "notice"; readonly item: Item; readonly approval: Approval | undefined }
    | {
        readonly kind: "failure";
        readonly turnId: number;
        readonly failure: Failure;
        /** The question that can be asked again: that of the latest turn, as long as nothing followed it. */
        readonly question: Item | undefined;
      }
  );

/** What the user has done to rows. */
export interface Openings {
  readonly opened: ReadonlyMap<string, boolean>;
  readonly readings: ReadonlyMap<string, Reading>;
}

/** What the rows of an item depend on. */
interface Known {
  readonly item: Item;
  readonly live: Live | undefined;
  readonly approval: Approval | undefined;
  readonly opened: boolean;
  readonly reading: Reading | undefined;
  readonly rows: readonly ConversationRow[];
  /** Of a message. */
  readonly blocks: Blocks | undefined;
  readonly text: string;
}

const line = 20; // pixels, for estimates
const textWidth = 60; // characters

export class Rows {
  private known = new Map<string, Known>();

  /** The rows of a session as it is now. */
  update(view: SessionView, ui: Openings): readonly ConversationRow[] {
    const approvals = new Map(view.pendingApprovals.map((approval) => [approval.itemId, approval]));
    const now = new Map<string, Known>();
    const out: ConversationRow[] = view.older ? [{ key: "older", estimate: 2 * line, kind: "older" }] : [];
    let turnId = view.items[0]?.turnId ?? 0;
    for (const item of view.items) {
      if (item.turnId !== turnId) {
        pushFailure(out, view, turnId);
        turnId = item.turnId;
      }
      const known = this.item(item, view.live[item.id], approvals.get(item.id), ui);
      now.set(item.id, known);
      out.push(...known.rows);
    }
    pushFailure(out, view, turnId);
    if (view.newerCut) out.push({ key: "newer", estimate: 2 * line, kind: "newer" });
    this.known = now;
    return out;
  }

  private item(item: Item, live: Live | undefined, approval: Approval | undefined, ui: Openings): Known {
    const before = this.known.get(item.id);
    const opened = ui.opened.get(item.id) ?? startsOpen(item);
    const reading = ui.readings.get(item.id);
    const same =
      before?.item === item &&
      before.live === live &&
      before.approval === approval &&
      before.opened === opened &&
      before.reading === reading;
    if (same) return before;
    const parts = { item, live, approval, opened, reading };
    if (item.kind === "agentMessage") return message(parts, before);
    return { ...parts, rows: rowsOf(parts), blocks: undefined, text: "" };
  }
}

type Parts = Omit<Known, "rows" | "blocks" | "text">;

/** The agent's plan is shown above; edits and running commands are what one wants to see. */
function startsOpen(item: Item): boolean {
  return item.kind === "toolCall" && item.tool !== planTool && Boolean(item.diff);
}

function pushFailure(out: ConversationRow[], view: SessionView, turnId: number): void {
  const failure = view.failures[turnId];
  if (!failure) return;
  const latest = view.session?.turnId === turnId && !busy(view) && view.queued.length === 0;
  const question = latest
    ? view.items.find((item) => item.turnId === turnId && item.kind === "userMessage" && !item.steered)
    : undefined;
  out.push({ key: `failure ${turnId}`, estimate: 3 * line, kind: "failure", turnId, failure, question });
}

function rowsOf({ item, live, approval, opened, reading }: Parts): readonly ConversationRow[] {
  const key = item.id;
  switch (item.kind) {
    case "userMessage":
      if (item.queued || item.status === "interrupted") return []; // it waits elsewhere, or was taken back
      return [{ key, estimate: 40 + height(item.text), kind: "user", item, opened, reading }];
    case "reasoning":
      return [{ key, estimate: 30, kind: "reasoning", item, opened }];
    case "toolCall":
      return [{ key, estimate: opened ? 200 : 36, kind: "tool", item, live, approval, opened, reading }];
    case "notice":
      return [{ key, estimate: 24 + height(item.text), kind: "notice", item, approval }];
    case "agentMessage":
    default:
      return []; // a kind of a newer server
  }
}

function height(text: string | undefined): number {
  return Math.min(20, Math.ceil((text?.length ?? 0) / textWidth)) * line;
}

/** The text of a message as far as it is here. */
function textOf({ item, live, reading }: Parts): string {
  if (reading && reading.text !== "") return reading.text;
  return growing(item) ? (live?.text ?? item.text ?? "") : (item.text ?? "");
}

function message(parts: Parts, before: Known | undefined): Known {
  const { item, live, reading } = parts;
  const text = textOf(parts);
  const continues =
    before?.blocks !== undefined && (before.text === text || (growing(before.item) && text.startsWith(before.text)));
  const blocks = continues ? before.blocks : new Blocks();
  const complete = !growing(item);
  const groups = blocks.update(text, complete);
  const old = continues ? before.rows : [];
  const rows: ConversationRow[] = groups.map((group, i) => {
    const known = old[i];
    const [first, last] = [i === 0, complete && i === groups.length - 1];
    const same =
      known?.kind === "text" &&
      known.group === group &&
      known.first === first &&
      known.last === last &&
      known.item === item;
    return same
      ? known
      : { key: `${item.id}/${i}`, estimate: estimateOf(group), kind: "text", item, group, first, last, whole: text };
  });
  if (groups.length === 0 && (!complete || item.error))
    rows.push({ key: item.id, estimate: 30, kind: "thinking", item, live });
  if (complete && missing(item, text, reading))
    rows.push({ key: `${item.id}/rest`, estimate: 40, kind: "rest", item, reading });
  return { ...parts, rows, blocks, text };
}

function growing(item: Item): boolean {
  return item.status === "inProgress";
}

function missing(item: Item, text: string, reading: Reading | undefined): boolean {
  if (reading) return reading.end < reading.total || reading.total === 0;
  return (item.textBytes ?? 0) > new TextEncoder().encode(text).length;
}

function estimateOf(group: Group): number {
  return group.blocks.reduce((sum, block) => {
    const lines =
      block.kind === "code" ? block.text.split("\n").length * 0.9 : Math.ceil(block.text.length / textWidth);
    return sum + 10 + lines * line;
  }, 0);
}
