// The licences that are packed: of all packages that the bundles name when they are not minified.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { notices } from "../../notices.mjs";

const work = mkdtempSync(join(tmpdir(), "sandbox-agent-notices-"));
after(() => rmSync(work, { recursive: true }));

/** The folders of the packages in a bundle, from the comments that esbuild writes above what it takes from a file. */
function named(bundle: string): string[] {
  const comments = readFileSync(bundle, "utf8").matchAll(/\/\/ (node_modules\/\S*?\.[cm]?js)\b/g);
  return [...comments].map(([, path = ""]) => path.replace(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+).*$/, "$1"));
}

/** Makes a package, and returns a record of a bundle with something of it. */
function bundled(name: string, files: Record<string, string>) {
  const folder = join(work, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries({ "package.json": JSON.stringify({ name, version: "1.2.3" }), ...files })) {
    writeFileSync(join(folder, file), text);
  }
  return { outputs: { "a.js": { inputs: { [`node_modules/${name}/a.js`]: { bytesInOutput: 1 } } } } };
}

describe("the licences that are packed", () => {
  it("are of all packages in the bundles, and of no others", () => {
    const out = join(work, "dist");
    execFileSync(process.execPath, ["esbuild.mjs", "--plain", out]);
    const text = readFileSync(join(out, "ThirdPartyNotices.txt"), "utf8");
    const bundles = readdirSync(out).filter((name) => name.endsWith(".js"));
    const folders = new Set(bundles.flatMap((name) => named(join(out, name))));
    const titles = [...folders].map((folder) => {
      const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<
        string,
        string
      >;
      return `${name ?? ""} ${version ?? ""}`;
    });
    assert.ok(["markdown-it", "highlight.js", "semver"].every((name) => folders.has(`node_modules/${name}`)));
    assert.deepEqual(
      [...text.matchAll(/={80}\n(.*)\n/g)].map(([, title]) => title),
      titles.sort(),
    );
    assert.ok(text.includes(readFileSync("node_modules/highlight.js/LICENSE", "utf8").trim()));
  });

  it("are the words of the package, or those that are kept for it", () => {
    assert.match(
      notices(work, [bundled("one", { "LICENSE-MIT": "free\n", NOTICE: "by one" })]),
      /\none 1\.2\.3\n\nfree\n\nby one\n$/,
    );
    mkdirSync(join(work, "licences/@of"), { recursive: true });
    writeFileSync(join(work, "licences/@of/two.txt"), "kept\n");
    assert.match(notices(work, [bundled("@of/two", {})]), /\n@of\/two 1\.2\.3\n\nkept\n$/);
  });

  it("fail where there is none", () => {
    assert.throws(
      () => notices(work, [bundled("three", { "README.md": "three" })]),
      /node_modules\/three has no licence/,
    );
  });
});
