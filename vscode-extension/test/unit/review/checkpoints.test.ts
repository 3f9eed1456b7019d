import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Checkpoint } from "../../../../editors/protocol";
import { distinct, sameRow } from "../../../src/review/checkpoints";

const checkpoint = (id: string, summary: string, minute: number): Checkpoint => ({
  id,
  summary,
  turnId: 0,
  itemId: "",
  at: new Date(minute * 60_000).toISOString(),
});

describe("checkpoints", () => {
  it("that are the same in a row are one, with all its names", () => {
    const rows = distinct([
      checkpoint("a", "Start of the session", 1),
      checkpoint("a", "Before turn 1", 2),
      checkpoint("b", "After turn 1", 3),
      checkpoint("b", "After turn 1", 4),
      checkpoint("a", "After going back", 5),
    ]);
    assert.deepEqual(
      rows.map(({ id, summary, also }) => [id, summary, ...also]),
      [
        ["a", "Start of the session", "Before turn 1"],
        ["b", "After turn 1"],
        ["a", "After going back"],
      ],
    );
  });

  it("of the same picture at another time are another row", () => {
    const [first, , last] = distinct([checkpoint("a", "x", 1), checkpoint("b", "y", 2), checkpoint("a", "z", 3)]);
    assert.ok(first && last);
    assert.ok(sameRow(first, { ...first, summary: "another name" }));
    assert.ok(!sameRow(first, last));
  });
});
