// What is bundled, and how: for esbuild.mjs, and for the tests of the page.
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { build } from "esbuild";

/** Of the host part, for Node. */
export const host = {
  entryPoints: { extension: "src/extension.ts" },
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode", "./languageclient"],
  mainFields: ["module", "main"],
};

/** Most of the code of the host part, loaded with the first server. */
export const library = {
  ...host,
  entryPoints: { languageclient: "src/client/languageclient.ts" },
  external: ["vscode"],
};

/** Of the conversation, for the browser. */
export const page = {
  entryPoints: { webview: "webview/main.tsx" },
  platform: "browser",
  target: "es2022",
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [{ name: "text", setup: bundleText }],
};

/** "./file.ts?text", imported when it is needed, is the text of that script, bundled: a file of its own beside the bundle. */
function bundleText(around) {
  const { outdir, absWorkingDir = process.cwd(), minify = false } = around.initialOptions;
  const records = {};
  around.onResolve({ filter: /\?text$/ }, async ({ path, resolveDir }) => {
    const script = resolve(resolveDir, path.replace(/\?text$/, ""));
    const name = `webview-${basename(script, ".ts")}.js`;
    const options = {
      bundle: true,
      write: false,
      metafile: true,
      format: "iife",
      target: page.target,
      legalComments: "none",
    };
    const { outputFiles, metafile } = await build({ ...options, absWorkingDir, minify, entryPoints: [script] });
    [records[name]] = Object.values(metafile.outputs);
    mkdirSync(resolve(absWorkingDir, outdir), { recursive: true });
    writeFileSync(resolve(absWorkingDir, outdir, name), `export default ${JSON.stringify(outputFiles[0].text)};\n`);
    return { path: `./${name}`, external: true };
  });
  around.onEnd(({ metafile }) => void Object.assign(metafile?.outputs ?? {}, records));
}
