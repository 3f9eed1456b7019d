// Reads the page of history before the items of a view.
import type { HistoryParams, HistoryResult, Item } from "../../../editors/protocol";
import { pageItems } from "./items";

/** Items for withOlder, and the cursor of those before them. */
export interface Older {
  readonly items: readonly Item[];
  readonly before?: string;
}

/** Where a view begins: its oldest item, and the cursor of what comes before, if there is one. */
export interface Beginning {
  readonly sessionId: string;
  /** The smallest seq of its items. */
  readonly first: number;
  readonly before?: string | undefined;
}

/**
 * Reads what comes before a view. Where it has no cursor, because its oldest items were let go, pages are read from the newest
 * on until one has older items. It fails as the request does.
 */
export async function readOlder(
  { sessionId, first, before: cursor }: Beginning,
  history: (params: HistoryParams) => Promise<HistoryResult>,
): Promise<Older> {
  let before = cursor;
  for (;;) {
    const page = await history({ sessionId, limit: pageItems, ...(before ? { before } : {}) });
    const items = page.items.filter((item) => item.seq < first);
    if (items.length > 0 || !page.before) return { items, ...(page.before ? { before: page.before } : {}) };
    before = page.before;
  }
}
