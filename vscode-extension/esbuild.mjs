// Bundles the extension: the host part for Node, the conversation for the browser.   esbuild.mjs [--watch] [--meta]
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";
import { host, library, page } from "./bundles.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const watch = process.argv.includes("--watch");
const meta = process.argv.includes("--meta");

const bundles = [host, library, page].map((bundle) => ({
  absWorkingDir: root,
  bundle: true,
  minify: !watch,
  sourcemap: watch,
  metafile: meta,
  legalComments: "none",
  logLevel: "warning",
  outdir: "dist",
  ...bundle,
}));

if (watch) {
  for (const bundle of bundles) {
    await (await context(bundle)).watch();
  }
} else {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  for (const bundle of bundles) {
    const { metafile } = await build(bundle);
    const [name] = Object.keys(bundle.entryPoints);
    if (meta) writeFileSync(join(root, `dist/${name}.js.meta.json`), JSON.stringify(metafile));
  }
}
