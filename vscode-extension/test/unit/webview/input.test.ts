import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { completed, isSlash, writingAt } from "../../../webview/completion";
import { Recall, requestsOf } from "../../../webview/recall";
import { item } from "../model/make";

describe("what is being written", () => {
  const at = (text: string): unknown => writingAt(text, text.length);

  it("is a slash command only at the beginning", () => {
    assert.deepEqual(at("/sw"), { kind: "slash", lead: "sw", from: 0 });
    assert.equal(at(" /sw"), undefined);
    assert.equal(at("/etc/hosts"), undefined);
  });

  it("is the argument of one", () => {
    assert.deepEqual(at("/switch do"), { kind: "argument", name: "switch", lead: "do", from: 8 });
    assert.deepEqual(at("/title A long one"), { kind: "argument", name: "title", lead: "A long one", from: 7 });
  });

  it("is a mention, but not within a word", () => {
    assert.deepEqual(at("see @src/ma"), { kind: "mention", lead: "src/ma", from: 5 });
    assert.deepEqual(at("@"), { kind: "mention", lead: "", from: 1 });
    assert.equal(at("me@example"), undefined);
  });

  it("is replaced by what was chosen, and the caret stands behind it", () => {
    assert.deepEqual(completed("see @ma now", 7, 5, "main.go"), { text: "see @main.go now", caret: 13 });
    assert.deepEqual(completed("/sw", 3, 0, "/switch"), { text: "/switch ", caret: 8 });
  });
});

describe("a slash command", () => {
  it("is a word after a slash at the beginning", () => {
    assert.deepEqual(["/fork", "/fork x", "/etc/hosts is", " /fork", "a /b", "/"].map(isSlash), [
      true,
      true,
      false,
      false,
      false,
      true,
    ]);
  });
});

describe("earlier requests", () => {
  const requests = requestsOf(
    ["one", "two", "two", ""]
      .map((text, i) => item(i, { kind: "userMessage", text }))
      .concat(item(9, { text: "answer" })),
  );

  it("are gone through back and forth, and what was being written is kept", () => {
    assert.deepEqual(requests, ["one", "two"]);
    const recall = new Recall();
    assert.equal(recall.forth(requests), undefined);
    assert.equal(recall.back(requests, "draft"), "two");
    assert.equal(recall.back(requests, "two"), "one");
    assert.equal(recall.back(requests, "one"), undefined);
    assert.equal(recall.forth(requests), "two");
    assert.equal(recall.forth(requests), "draft");
    assert.equal(recall.active, false);
  });
});
