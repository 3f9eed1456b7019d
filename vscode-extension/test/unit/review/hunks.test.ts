import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { covers, firstChange, heading, hunksOf, takeBack, type Hunk } from "../../../src/review/hunks";

const folder = mkdtempSync(join(tmpdir(), "sandbox-agent-hunks-"));
after(() => {
  rmSync(folder, { recursive: true });
});

/** What git finds to be the difference of two texts. */
function patch(before: string, changed: string): string {
  writeFileSync(join(folder, "a"), before);
  writeFileSync(join(folder, "b"), changed);
  const git = spawnSync("git", ["diff", "--no-index", "--no-color", "a", "b"], { cwd: folder, encoding: "utf8" });
  assert.equal(git.error, undefined);
  return git.stdout;
}

function without(text: string, hunk: Hunk): string | undefined {
  const edit = takeBack(text, hunk);
  return edit && text.slice(0, edit.start) + edit.text + text.slice(edit.end);
}

const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${(from + i).toFixed()}\n`).join("");

describe("hunks", () => {
  it("are found with their places", () => {
    const before = numbered(1, 40);
    const changed = before.replace("line 5\n", "line 5\nnew\n").replace("line 30\n", "");
    const hunks = hunksOf("f", patch(before, changed));
    assert.deepEqual(
      hunks.map((hunk) => [hunk.start, firstChange(hunk)]),
      [
        [3, 6],
        [28, 31],
      ],
    );
    const [first] = hunks;
    assert.ok(first);
    assert.ok(covers(first, 6) && covers(first, 3) && !covers(first, 12) && !covers(first, 2));
  });

  it("are called by what their first change brought, else by what it took away", () => {
    const before = numbered(1, 60);
    const changed = before
      .replace("line 5\n", "\n  changed\n")
      .replace("line 25\n", "")
      .replace("line 28\n", "line 28\nfurther below\n")
      .replace("line 45\n", "line 45\n \n");
    assert.deepEqual(hunksOf("f", patch(before, changed)).map(heading), ["changed", "line 25", ""]);
  });

  it("keep their ids where lines before them come and go", () => {
    const before = numbered(1, 40);
    const changed = before.replace("line 30\n", "changed\n");
    const [alone] = hunksOf("f", patch(before, changed));
    const [, second] = hunksOf("f", patch(before, `first\n${changed}`));
    assert.equal(second?.id, alone?.id);
    assert.notEqual(hunksOf("g", patch(before, changed))[0]?.id, alone?.id, "of another file");
  });

  it("are told apart when they are alike", () => {
    const block = "a\nb\nc\nd\n".repeat(6);
    const hunks = hunksOf("f", patch(block + numbered(1, 30) + block, `${block}x\n${numbered(1, 30)}x\n${block}`));
    assert.equal(new Set(hunks.map(({ id }) => id)).size, hunks.length);
  });

  it("are taken back where other lines have moved them", () => {
    const before = numbered(1, 20);
    const changed = before.replace("line 10\n", "agent's\n");
    const [hunk] = hunksOf("f", patch(before, changed));
    assert.ok(hunk);
    assert.equal(without(`mine\nmine\n${changed}mine\n`, hunk), `mine\nmine\n${before}mine\n`);
  });

  it("stay where their lines are no longer the same", () => {
    const before = numbered(1, 20);
    const changed = before.replace("line 10\n", "agent's\n");
    const [hunk] = hunksOf("f", patch(before, changed));
    assert.ok(hunk);
    assert.equal(without(changed.replace("agent's", "mine"), hunk), undefined);
    assert.equal(without(changed.replace("line 9\n", "line 9 is mine\n"), hunk), undefined);
    assert.equal(without("", hunk), undefined);
  });

  it("keep the ends of lines of the file", () => {
    const before = numbered(1, 9).replaceAll("\n", "\r\n");
    const changed = before.replace("line 5\r\n", "agent's\r\n");
    const [hunk] = hunksOf("f", patch(before, changed));
    assert.ok(hunk);
    assert.equal(without(changed, hunk), before);
  });

  const ends: [name: string, before: string, changed: string][] = [
    ["a final newline that came", "a\nb", "a\nb\n"],
    ["a final newline that went", "a\nb\n", "a\nb"],
    ["a last line without newline that changed", "a\nb", "a\nc"],
    ["a last line that came behind one without newline", "a", "a\nb\n"],
    ["a text that became empty", "a\nb\n", ""],
    ["one line that became another", "a\n", "b\n"],
    ["lines of spaces and signs", "a\n- b\n+ c\n\n", "a\n-- b\n++ c\n \n"],
    ["text that looks like a header", "a\nb\n", "@@ -1 +1 @@\na\nb\n"],
  ];
  for (const [name, before, changed] of ends) {
    it(`take back ${name}`, () => {
      const [hunk, ...others] = hunksOf("f", patch(before, changed));
      assert.ok(hunk);
      assert.deepEqual(others, []);
      assert.equal(without(changed, hunk), before);
    });
  }

  it("taken back one by one give the text before, whatever their order", () => {
    let seed = 20261129;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return (seed >> 8) % below;
    };
    for (let round = 0; round < 60; round++) {
      const lines = Array.from({ length: 20 + random(60) }, (_, i) => `${i.toFixed()} ${"x".repeat(random(4))}`);
      const changed = lines.flatMap((line) =>
        random(12) ? [line] : ([[], [`${line}!`], [line, "new"]][random(3)] ?? []),
      );
      const eol = random(2) ? "\n" : "\r\n";
      const [before, after] = [lines, changed].map((all) => all.join(eol) + (random(2) ? eol : ""));
      assert.ok(before !== undefined && after !== undefined);
      let text = after;
      const hunks = hunksOf("f", patch(before, after));
      for (const hunk of random(2) ? hunks : hunks.toReversed())
        text = without(text, hunk) ?? assert.fail(`round ${round.toFixed()}`);
      assert.equal(text, before, `round ${round.toFixed()}`);
    }
  });
});
