import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filesOfPatch, patchOf, proposes } from "../../../webview/proposal";
import { item } from "../model/make";

describe("a proposal", () => {
  const call = { kind: "toolCall", tool: "apply_patch", arguments: "{}" } as const;

  it("is what a call would change, as long as it has changed nothing", () => {
    assert.ok(proposes(item(1, { ...call, status: "inProgress" })));
    assert.ok(proposes(item(1, { ...call, status: "denied" })));
    assert.ok(!proposes(item(1, { ...call, status: "completed" })));
    assert.ok(!proposes(item(1, { ...call, status: "failed", diff: "--- a/x\n" })));
    assert.ok(!proposes(item(1, { ...call, tool: "exec_command", status: "inProgress" })));
  });

  it("is read from whole arguments that have nothing else", () => {
    assert.equal(patchOf('{"patch": "a\\nb"}'), "a\nb");
    assert.equal(patchOf('{"patch": "harmless", "patch": "meant"}'), "meant");
    for (const text of [
      "",
      '{"patch": "a',
      "{}",
      "null",
      "3",
      '{"patch": 1}',
      '{"patch": "harmless", "PATCH": "meant"}',
    ])
      assert.equal(patchOf(text), undefined, text);
  });

  it("is files with their lines, whatever is done to them", () => {
    const patch = [
      "*** Begin Patch",
      "*** Update File: a.txt",
      "@@",
      " first",
      "-old",
      "+new",
      "*** Add File: b c.txt",
      "+*** Delete File: no marker",
      "*** Delete File: d.txt",
      "*** Update File: e.txt",
      "*** Move to: f.txt",
      "*** End Patch",
      "",
    ].join("\n");
    const files = filesOfPatch(patch);
    assert.deepEqual(
      files.map(({ path, added, removed }) => [path, added, removed]),
      [
        ["a.txt", 1, 1],
        ["b c.txt", 1, 0],
        ["d.txt", 0, 0],
        ["e.txt", 0, 0],
      ],
    );
    assert.deepEqual(
      files.map(({ lines }) => lines.map(({ kind, text }) => `${kind} ${text}`)),
      [
        ["hunk @@", "context  first", "removed -old", "added +new"],
        ["meta *** Add File: b c.txt", "added +*** Delete File: no marker"],
        ["meta *** Delete File: d.txt"],
        ["meta *** Move to: f.txt"],
      ],
    );
  });

  it("is also a unified diff, and loses no line of what is neither", () => {
    assert.deepEqual(
      filesOfPatch("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").map(({ path, added }) => [path, added]),
      [["x", 1]],
    );
    const [first] = filesOfPatch("words\n*** Delete File: x");
    assert.deepEqual(first?.lines, [{ kind: "context", text: "words" }]);
  });
});
