// The texts that are shown to users, as the sources have them, are written into the bundle here.   texts.mjs [--print]
// With --print, they and the calls of l10n.t whose text is not known before they run are only printed.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

function texts() {
  const found = new Set();
  const problems = [];
  for (const folder of ["src", "webview"]) {
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (/\.tsx?$/.test(name)) collect(join(folder, name), found, problems);
    }
  }
  return { texts: [...found].sort(), problems };
}

function collect(path, found, problems) {
  const file = ts.createSourceFile(path, readFileSync(join(root, path), "utf8"), ts.ScriptTarget.Latest, true);
  const visit = (node) => {
    if (ts.isCallExpression(node) && /(^|\.)l10n\.t$/.test(node.expression.getText())) {
      const [text] = node.arguments;
      if (text && ts.isStringLiteralLike(text)) found.add(text.text);
      else problems.push(`${path}:${file.getLineAndCharacterOfPosition(node.pos).line + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
}

const { texts: all, problems } = texts();
if (process.argv.includes("--print")) console.log(JSON.stringify({ texts: all, problems }));
else {
  const bundle = JSON.stringify(Object.fromEntries(all.map((text) => [text, text])), undefined, 2);
  writeFileSync(join(root, "l10n/bundle.l10n.json"), `${bundle}\n`);
}
