import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Blocks, codeAt, type Block, type Group } from "../../../webview/markdown/blocks";

function flat(groups: readonly Group[]): Block[] {
  return groups.flatMap((group) => group.blocks);
}

function texts(text: string): string[] {
  return flat(new Blocks().update(text, true)).map((block) => block.text);
}

const sample = [
  "# Head",
  "A paragraph",
  "of two lines.",
  "",
  "- one",
  "",
  "  still one",
  "- two",
  "",
  "```go",
  "func a() {",
  "",
  "}",
  "```",
  "After.",
  "",
  "1. item",
  "",
  "   ```sh",
  "   cd x",
  "",
  "# no head",
  "   ```",
  "",
  "The end.",
].join("\n");

describe("blocks of Markdown", () => {
  it("are cut where nothing that follows can change them", () => {
    assert.deepEqual(texts(sample), [
      "# Head\nA paragraph\nof two lines.\n\n",
      "- one\n\n  still one\n- two\n\n",
      "func a() {\n\n}",
      "After.\n\n",
      "1. item\n\n   ```sh\n   cd x\n\n# no head\n   ```\n\n",
      "The end.",
    ]);
  });

  it("are the same however the text came", () => {
    const whole = flat(new Blocks().update(sample, true));
    for (let size = 1; size < 40; size++) {
      const blocks = new Blocks();
      for (let end = size; end < sample.length; end += size) blocks.update(sample.slice(0, end), false);
      assert.deepEqual(flat(blocks.update(sample, true)), whole, `pieces of ${size}`);
      assert.deepEqual(flat(blocks.update(sample, true)), whole, "asked again");
    }
  });

  it("stay the same objects once they are closed", () => {
    const text = Array.from({ length: 400 }, (_, i) => `Paragraph ${i} of many words.`).join("\n\n");
    const blocks = new Blocks();
    const before = blocks.update(text.slice(0, 9000), false);
    const after = blocks.update(text, false);
    assert.ok(before.length > 2);
    before.slice(0, -1).forEach((group, i) => assert.equal(after[i], group));
  });

  it("show code that is not closed, without the beginning of its end", () => {
    const [block] = flat(new Blocks().update("```js\nlet a;\n``", false));
    assert.equal(block?.kind, "code");
    assert.equal(block.text, "let a;");
    assert.equal(block.fence?.info, "js");
  });

  it("keep a fence that is longer than what it has inside", () => {
    const blocks = flat(new Blocks().update("````md\n```\nx\n```\n````\ny", true));
    assert.deepEqual(
      blocks.map((block) => [block.kind, block.text]),
      [
        ["code", "```\nx\n```"],
        ["markdown", "y"],
      ],
    );
  });

  it("cut long code into parts that together are all of it", () => {
    const code = Array.from({ length: 1000 }, (_, i) => `line ${i}`).join("\n");
    const text = `Look:\n\n\`\`\`\n${code}\n\`\`\`\n\nDone.`;
    const blocks = flat(new Blocks().update(text, true));
    const parts = blocks.filter((block) => block.kind === "code");
    assert.ok(parts.length > 5);
    assert.equal(parts.map((part) => part.text).join("\n"), code);
    assert.deepEqual(
      [parts[0]?.first, parts[0]?.last, parts.at(-1)?.first, parts.at(-1)?.last],
      [true, false, false, true],
    );
    const middle = parts[3];
    assert.ok(middle);
    assert.equal(codeAt(text, middle), `${code}\n`);
  });

  it("bound what is drawn anew, whatever the text", () => {
    const hostile: Record<string, string> = {
      "one line": "word ".repeat(200_000),
      "one word": "x".repeat(1_000_000),
      "a tight list": "- item\n".repeat(100_000),
      "an indented text": "    code\n".repeat(100_000),
      "code in one line": `\`\`\`\n${"x ".repeat(500_000)}`,
      "a table": `| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(50_000)}`,
    };
    for (const [name, text] of Object.entries(hostile)) {
      const blocks = new Blocks();
      const groups = blocks.update(text, false);
      const longest = Math.max(...flat(groups).map((block) => block.text.length));
      assert.ok(longest <= 64 * 1024, `${name}: ${longest}`);
      assert.equal(
        flat(groups).reduce((sum, block) => sum + block.text.replace(/\s/g, "").length, 0),
        text.replace(/\s|`/g, "").length,
        name,
      );
    }
  });

  it("know the link definitions of the whole text", () => {
    const text = `See [it][1].\n\n${"Paragraph.\n\n".repeat(50)}[1]: https://example.org\n`;
    const groups = new Blocks().update(text, true);
    assert.ok(groups.length > 1);
    for (const group of groups) assert.equal(group.definitions, "[1]: https://example.org\n");
  });

  it("cost little for each piece of a long text", () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `Paragraph ${i} with **some** words in it.`).join("\n\n");
    const blocks = new Blocks();
    const begin = performance.now();
    for (let end = 0; end < text.length; end += 2000) blocks.update(text.slice(0, end), false);
    const each = (performance.now() - begin) / (text.length / 2000);
    assert.ok(each < 20, `${each} ms`);
  });
});
