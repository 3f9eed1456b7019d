// Bundles the extension, with the licences of what is in it: the host part for Node, the conversation for the browser.
//   esbuild.mjs [--watch | --plain] [--meta] [FOLDER]
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";
import { host, library, page } from "./bundles.mjs";
import { notices } from "./notices.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const watch = process.argv.includes("--watch");
const plain = watch || process.argv.includes("--plain");
const meta = process.argv.includes("--meta");
const folder = process.argv.slice(2).find((word) => !word.startsWith("--"));
const outdir = folder === undefined ? join(root, "dist") : resolve(folder);

const bundles = [host, library, page].map((bundle) => ({
  absWorkingDir: root,
  bundle: true,
  minify: !plain,
  sourcemap: watch,
  metafile: true,
  legalComments: "none",
  logLevel: "warning",
  outdir,
  ...bundle,
}));

if (watch) {
  for (const bundle of bundles) {
    await (await context(bundle)).watch();
  }
} else {
  if (folder === undefined) rmSync(outdir, { recursive: true, force: true });
  const metafiles = [];
  for (const bundle of bundles) {
    const { metafile } = await build(bundle);
    const [name] = Object.keys(bundle.entryPoints);
    if (meta) writeFileSync(join(outdir, `${name}.js.meta.json`), JSON.stringify(metafile));
    metafiles.push(metafile);
  }
  writeFileSync(join(outdir, "ThirdPartyNotices.txt"), notices(root, metafiles));
}
