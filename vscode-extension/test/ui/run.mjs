// Runs the tests of the conversation's page in a headless Chromium.   run.mjs [PART OF A FILE'S NAME...]
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { page } from "../../bundles.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const parts = process.argv.slice(2);
const files = readdirSync(here)
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)));
if (files.length === 0) {
  console.error(`No test has a name with ${parts.join(" or ")} in it.`);
  process.exit(2);
}

// Below the extension, so that playwright-core is found from there.
const out = mkdtempSync(join(root, "node_modules/.ui-"));
let status;
try {
  await build({
    absWorkingDir: root,
    outdir: join(out, "dist"),
    bundle: true,
    minify: true,
    ...page,
    logLevel: "warning",
  });
  await build({
    absWorkingDir: root,
    entryPoints: files.map((file) => join(here, file)),
    outdir: join(out, "tests"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    external: ["playwright-core"],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    sourcemap: "inline",
    logLevel: "warning",
  });
  const tests = files.map((file) => join(out, "tests", file.replace(/\.ts$/, ".mjs")));
  const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-concurrency=1", ...tests], {
    cwd: root,
    env: { ...process.env, SANDBOX_AGENT_UI_DIST: join(out, "dist") },
    stdio: "inherit",
  });
  status = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
process.exit(status);
