import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HistoryParams, HistoryResult } from "../../../../editors/protocol";
import { readOlder, type Beginning } from "../../../src/model/older";
import type { SessionView } from "../../../src/model/session";
import { attached, emptyView, trimmed } from "../../../src/model/session";
import { item, snapshot } from "./make";

/** A server with items 1 to all, whose cursors are seqs. */
function server(all: number): { asked: string[]; history: (params: HistoryParams) => Promise<HistoryResult> } {
  const asked: string[] = [];
  const history = ({ before, limit = 50 }: HistoryParams): Promise<HistoryResult> => {
    asked.push(before ?? "newest");
    const end = before ? Number(before) : all + 1;
    const first = Math.max(1, end - limit);
    const items = Array.from({ length: end - first }, (_, i) => item(first + i));
    return Promise.resolve({ items, ...(first > 1 ? { before: String(first) } : {}) });
  };
  return { asked, history };
}

function beginning({ id, items, before }: SessionView): Beginning {
  return { sessionId: id, first: Math.min(...items.map((known) => known.seq)), before };
}

describe("reading older items", () => {
  it("goes on from the cursor", async () => {
    const { asked, history } = server(500);
    const view = attached(emptyView("s1"), snapshot(500, [item(450), item(451)], { before: "450" }));
    const older = await readOlder(beginning(view), history);
    assert.deepEqual(asked, ["450"]);
    assert.equal(older.items.at(-1)?.seq, 449);
    assert.equal(older.before, "350");
  });

  it("looks from the newest on where items were let go", async () => {
    const { asked, history } = server(2000);
    const items = Array.from({ length: 1000 }, (_, i) => item(1001 + i));
    const view = trimmed(attached(emptyView("s1"), snapshot(2000, items, { before: "1001" })));
    const older = await readOlder(beginning(view), history);
    assert.ok(asked.length <= 6, asked.join());
    assert.equal(older.items.at(-1)?.seq, (view.items[0]?.seq ?? 0) - 1);
  });

  it("ends at the beginning", async () => {
    const { history } = server(3);
    const view = trimmed(attached(emptyView("s1"), snapshot(3, [item(1), item(2), item(3)])));
    assert.deepEqual(await readOlder(beginning(view), history), { items: [] });
  });
});
