// Bundles the unit tests with a stand-in for the vscode module and runs them.   run.mjs [PART OF A FILE'S NAME...]
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { page } from "../../bundles.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const parts = process.argv.slice(2);
const files = readdirSync(here, { recursive: true })
  .filter((file) => /\.test\.tsx?$/.test(file))
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)));
if (files.length === 0) {
  console.error(`No unit test has a name with ${parts.join(" or ")} in it.`);
  process.exit(2);
}

const out = mkdtempSync(join(tmpdir(), "sandbox-agent-unit-"));
let status;
try {
  await build({
    entryPoints: files.map((file) => join(here, file)),
    outdir: out,
    outbase: here,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    jsx: "automatic",
    jsxImportSource: "preact",
    sourcemap: "inline",
    alias: { vscode: join(here, "vscode.ts") },
    mainFields: ["module", "main"],
    plugins: page.plugins,
    logLevel: "warning",
  });
  const bundles = files.map((file) => join(out, file.replace(/\.tsx?$/, ".mjs")));
  const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-timeout=60000", ...bundles], {
    stdio: "inherit",
  });
  status = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
process.exit(status);
