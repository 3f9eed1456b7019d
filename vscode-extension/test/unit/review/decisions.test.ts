import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Decisions } from "../../../src/review/decisions";

function memory(): {
  get: <T>(key: string, fallback?: T) => T;
  update: (key: string, value: unknown) => Promise<void>;
} {
  const values = new Map<string, unknown>();
  return {
    get: <T>(key: string, fallback?: T) => (values.get(key) ?? fallback) as T,
    update: (key, value) => {
      values.set(key, JSON.parse(JSON.stringify(value)));
      return Promise.resolve();
    },
  };
}

describe("decisions", () => {
  it("are kept by session, over a reload, until they are withdrawn", async () => {
    const stored = memory();
    await new Decisions(stored).accept("s1", ["a", "b"]);
    await new Decisions(stored).accept("s2", ["c"]);
    const decisions = new Decisions(stored);
    assert.deepEqual([...decisions.accepted("s1")], ["a", "b"]);
    await decisions.withdraw("s1", ["a"]);
    assert.deepEqual([...decisions.accepted("s1")], ["b"]);
    assert.deepEqual([...decisions.accepted("s2")], ["c"]);
    assert.deepEqual([...decisions.accepted("s3")], []);
  });

  it("are bounded: the sessions decided on last are remembered", async () => {
    const decisions = new Decisions(memory());
    for (let i = 0; i < 60; i++) await decisions.accept(`s${i.toFixed()}`, ["x"]);
    assert.equal(decisions.accepted("s0").size, 0);
    assert.equal(decisions.accepted("s59").size, 1);
    await decisions.accept(
      "s59",
      Array.from({ length: 6000 }, (_, i) => i.toFixed()),
    );
    assert.equal(decisions.accepted("s59").size, 5000);
  });
});
