import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

const printed = execFileSync(process.execPath, ["l10n/texts.mjs", "--print"], { encoding: "utf8" });
const { texts, problems } = JSON.parse(printed) as { texts: string[]; problems: string[] };

describe("the texts", () => {
  it("are all in l10n/bundle.l10n.json, and no others; `npm run l10n` writes it", () => {
    const bundle = JSON.parse(readFileSync("l10n/bundle.l10n.json", "utf8")) as Record<string, string>;
    assert.deepEqual(Object.keys(bundle), texts);
    assert.ok(texts.length > 300);
  });

  it("are known before the program runs", () => {
    assert.deepEqual(problems, []);
  });

  it("have their values counted from 0, without a gap", () => {
    for (const text of texts) {
      const used = [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))].sort();
      assert.deepEqual(used, [...used.keys()].map(String), text);
    }
  });
});
