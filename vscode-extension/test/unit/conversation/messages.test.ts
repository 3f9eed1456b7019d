import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newNonce, pageHtml } from "../../../src/conversation/html";
import { calls, messageFromPage, messageToPage } from "../../../src/conversation/messages";
import { count, list, object, optional, text, word } from "../../../src/conversation/shape";
import { emptyView } from "../../../src/model/session";

describe("a shape", () => {
  const shape = object({ name: text(5), kind: word("a", "b"), at: optional(count), tags: optional(list(text(3), 2)) });

  it("takes what it promises, with fields of a newer version", () => {
    assert.equal(shape({ name: "x", kind: "a", more: 1 }), true);
    assert.equal(shape({ name: "x", kind: "b", at: 0, tags: ["x", "y"] }), true);
  });

  it("takes nothing else", () => {
    const bad = [
      null,
      undefined,
      [],
      "x",
      { kind: "a" },
      { name: 1, kind: "a" },
      { name: "longer", kind: "a" },
      { name: "x", kind: "c" },
      { name: "x", kind: "a", at: -1 },
      { name: "x", kind: "a", at: 1.5 },
      { name: "x", kind: "a", tags: ["x", "y", "z"] },
      { name: "x", kind: "a", tags: ["long"] },
    ];
    for (const value of bad) assert.equal(shape(value), false, JSON.stringify(value));
  });
});

describe("messages", () => {
  it("of the page are known by their type and checked", () => {
    assert.deepEqual(messageFromPage({ type: "drawn", batch: 3 }), { type: "drawn", batch: 3 });
    for (const bad of [
      undefined,
      1,
      {},
      { type: "drawn" },
      { type: "toString" },
      { type: "call", id: 1, name: "eval", given: {} },
    ]) {
      assert.equal(messageFromPage(bad), undefined, JSON.stringify(bad));
    }
  });

  it("to the page are checked there", () => {
    assert.ok(messageToPage({ type: "session", batch: 1, view: emptyView("s1") }));
    assert.ok(messageToPage({ type: "session", batch: 1 }));
    assert.equal(messageToPage({ type: "session", batch: 1, view: { id: "s1" } }), undefined);
    assert.equal(messageToPage({ type: "changes", batch: 1, changes: [{ kind: "event" }] }), undefined);
  });

  it("run no commands but those that the page may run", () => {
    assert.equal(calls.run({ command: "forkSession" }), true);
    assert.equal(calls.run({ command: "destroy" }), false);
    assert.equal(calls.answer({ sessionId: "s", approvalId: "a", decision: "allowAll" }), false);
  });
});

describe("the document", () => {
  it("loads our own script and style only, and runs nothing inline", () => {
    const nonce = newNonce();
    const html = pageHtml({
      source: "https://own",
      nonce,
      script: "https://own/a.js",
      style: "https://own/a.css",
      language: "en",
      title: 'A "title" <',
    });
    const policy = `default-src 'none'; script-src 'nonce-${nonce}'; worker-src blob:; style-src https://own;`;
    assert.ok(html.includes(`content="${policy}"`));
    assert.match(html, /<title>A &quot;title&quot; &lt;<\/title>/);
    assert.doesNotMatch(html, /unsafe|style=|onload/);
    assert.notEqual(nonce, newNonce());
  });
});
