import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filesOf } from "../../../webview/diff";
import { firstLines, lastLines, settled } from "../../../src/model/terminal";

describe("output", () => {
  it("is shown as a terminal leaves it", () => {
    assert.equal(settled("\x1b[1;31mred\x1b[0m\r\n10%\r50%\r100%\ndone"), "red\n100%\ndone");
    assert.equal(settled("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "alink");
    assert.equal(settled("a\x00b\x07"), "a␀b␇");
    assert.equal(settled("half \x1b[3"), "half ");
  });

  it("has first and last lines", () => {
    assert.equal(lastLines("1\n2\n3\n", 2), "2\n3");
    assert.deepEqual(firstLines("1\n2\n3\n", 2), { text: "1\n2", lines: 3 });
    assert.deepEqual(firstLines("1\n", 2), { text: "1\n", lines: 1 });
  });
});

describe("a unified diff", () => {
  const diff = `diff --git a/x.go b/x.go
index 1..2 100644
--- a/x.go
+++ b/x.go
@@ -3,3 +3,3 @@ func x() {
 a
---- b
+++ c
 d
--- /dev/null
+++ b/new file.txt
@@ -0,0 +1 @@
+hello
\\ No newline at end of file
`;

  it("is files with lines, also where a line looks like a header", () => {
    const files = filesOf(diff);
    assert.deepEqual(
      files.map(({ path, line, added, removed }) => ({ path, line, added, removed })),
      [
        { path: "x.go", line: 3, added: 1, removed: 1 },
        { path: "new file.txt", line: 1, added: 1, removed: 0 },
      ],
    );
    assert.deepEqual(
      files[0]?.lines.map((line) => line.kind),
      ["hunk", "context", "removed", "added", "context"],
    );
    assert.deepEqual(
      files[1]?.lines.map((line) => line.kind),
      ["hunk", "added", "meta"],
    );
  });

  it("keeps what git says instead of lines", () => {
    const [file] = filesOf("diff --git a/i b/j\nrename from i\nrename to j\nBinary files differ\n");
    assert.equal(file?.path, "j");
    assert.deepEqual(
      file.lines.map((line) => line.text),
      ["rename from i", "rename to j", "Binary files differ"],
    );
  });
});
