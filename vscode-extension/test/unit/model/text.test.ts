import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  costText,
  durationText,
  oneLine,
  shortNumber,
  sinceText,
  sizeText,
  stateText,
  usageText,
} from "../../../src/model/text";
import { at } from "./make";

const usage = { inputTokens: 1200, cachedTokens: 0, outputTokens: 34, reasoningTokens: 0, modelCalls: 2, cost: 0 };

describe("texts", () => {
  it("say what is waited for", () => {
    assert.equal(
      stateText({ status: "running", reason: "Waiting for\nthe model.", since: at }),
      "Running: Waiting for the model.",
    );
    assert.equal(stateText({ status: "idle", since: at }), "Ready");
    assert.equal(stateText({ status: "dreaming" as "idle", since: at }), "dreaming");
  });

  it("tell what was spent as far as it is known", () => {
    assert.equal(usageText(usage), "1.2k tokens · $0.0000");
    assert.equal(usageText({ ...usage, unpricedCalls: 2 }), "1.2k tokens");
    assert.equal(costText({ ...usage, cost: 0.0123 }), "$0.0123");
    assert.equal(costText({ ...usage, cost: 1.5, unpricedCalls: 1 }), "≥ $1.50");
  });

  it("write numbers for people", () => {
    assert.deepEqual([999, 1000, 999_949, 999_950, 2_500_000].map(shortNumber), [
      "999",
      "1.0k",
      "999.9k",
      "1.0M",
      "2.5M",
    ]);
    assert.deepEqual([512, 20_000, 20_000_000].map(sizeText), ["512 bytes", "19 KiB", "19 MiB"]);
    assert.deepEqual([400, 200_000, 7_500_000].map(durationText), ["0.4 s", "3:20 min", "2:05 h"]);
    assert.equal(oneLine("a\n  b\r\nc "), "a b c");
  });

  it("tell times that matter", () => {
    const start = Date.parse(at);
    assert.equal(sinceText(at, start + 1000), "");
    assert.equal(sinceText(at, start + 5400), "5 s");
    assert.equal(sinceText(at, start + 65_000), "1:05 min");
    assert.equal(sinceText("", start), "");
  });
});
