// The order of items on the screen, and how many of them are kept.
import type { Item } from "../../../editors/protocol";

/** How much of a conversation is kept: see newest and oldest. */
export interface Limits {
  readonly items: number;
  /** Of texts, outputs and diffs, in UTF-16 units, about. */
  readonly size: number;
}

/** What is kept of a conversation that is read at its end. */
export const endLimits: Limits = { items: 800, size: 16 * 1024 * 1024 };
/** What is kept of one whose older items are read. */
export const readingLimits: Limits = { items: 20_000, size: 64 * 1024 * 1024 };

/** About how much memory an item takes, in UTF-16 units. */
export function sizeOf(item: Item): number {
  const output = item.output ? item.output.head.length + (item.output.tail?.length ?? 0) : 0;
  return 500 + (item.text?.length ?? 0) + (item.arguments?.length ?? 0) + (item.diff?.length ?? 0) + output;
}

/**
 * Where an item belongs among others. Items come in the order of their seq but for two kinds: a request that waits has an item
 * at once, yet its turn comes after the running one; and what the model thought is told after the beginning of the message
 * that it led to.
 */
function placeOf(items: readonly Item[], item: Item): number {
  let at = items.length;
  while (at > 0 && (items[at - 1]?.turnId ?? 0) > item.turnId) at--;
  const last = items[at - 1];
  return item.kind === "reasoning" && last?.kind === "agentMessage" && last.turnId === item.turnId ? at - 1 : at;
}

/** The items with one more, or with a newer version of one that is there. */
export function withItem(items: readonly Item[], item: Item): readonly Item[] {
  const known = indexOf(items, item.id);
  if (known >= 0) return items.with(known, item);
  return items.toSpliced(placeOf(items, item), 0, item);
}

/** The items of a snapshot or a page, in the order of the screen. */
export function arranged(items: readonly Item[]): readonly Item[] {
  const out: Item[] = [];
  for (const item of items) out.splice(placeOf(out, item), 0, item);
  return out;
}

/** A page and the items that follow it. A request at the end of the page may have waited for turns that follow. */
export function joined(page: readonly Item[], items: readonly Item[]): readonly Item[] {
  return [...page, ...items].sort((a, b) => a.turnId - b.turnId);
}

/** The place of an item, or -1. Most questions are about the latest ones. */
export function indexOf(items: readonly Item[], id: string): number {
  return items.findLastIndex((item) => item.id === id);
}

/** Reports whether items exceed the limits. */
export function exceeds(items: readonly Item[], limits: Limits): boolean {
  return items.length > limits.items || items.reduce((size, item) => size + sizeOf(item), 0) > limits.size;
}

/** The newest items that are within half of the limits; at least one. */
export function newest(items: readonly Item[], limits: Limits): readonly Item[] {
  let size = 0;
  const gone = items.findLastIndex(
    (item, i) => items.length - i > limits.items / 2 || (size += sizeOf(item)) > limits.size / 2,
  );
  return items.slice(Math.min(gone + 1, items.length - 1));
}

/** The oldest items that are within the limits; at least so many as a page has. */
export function oldest(items: readonly Item[], limits: Limits): readonly Item[] {
  let size = 0;
  const kept = items.findIndex((item, i) => i >= limits.items || (size += sizeOf(item)) > limits.size);
  return kept < 0 ? items : items.slice(0, Math.max(kept, pageItems));
}

/** Asked for in one page of history. */
export const pageItems = 100;
