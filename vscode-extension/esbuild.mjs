// Bundles the extension: the host part for Node, the conversation for the browser.   esbuild.mjs [--watch] [--meta]
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const watch = process.argv.includes("--watch");
const meta = process.argv.includes("--meta");

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: !watch,
  sourcemap: watch,
  metafile: meta,
  legalComments: "none",
  logLevel: "warning",
  outdir: "dist",
};

const bundles = [
  {
    ...shared,
    entryPoints: { extension: "src/extension.ts" },
    platform: "node",
    target: "node20",
    format: "cjs",
    external: ["vscode"],
    mainFields: ["module", "main"],
  },
];
if (existsSync(join(root, "webview/main.tsx"))) {
  bundles.push({
    ...shared,
    entryPoints: { webview: "webview/main.tsx" },
    platform: "browser",
    target: "es2022",
    format: "iife",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
}

if (watch) {
  for (const bundle of bundles) {
    await (await context(bundle)).watch();
  }
} else {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  for (const result of await Promise.all(bundles.map((bundle) => build(bundle)))) {
    if (meta) {
      const output = Object.keys(result.metafile.outputs)[0];
      writeFileSync(join(root, `${output}.meta.json`), JSON.stringify(result.metafile));
    }
  }
}
