// Checks what the extension may cost, and prints what it does: the size of its bundles, and the time until it is active.
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const bundle = join(root, "dist/extension.js");

/** What may be spent: bytes of all bundles without the programs, and milliseconds of a processor to load and activate. */
const budget = { bytes: 1_000_000, milliseconds: 50 };

/** Loads and activates the extension in this process, with a vscode module that agrees to everything. */
function activate() {
  const anything = new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === "then" ? undefined : anything),
    set: () => true,
    apply: () => anything,
    construct: () => anything,
  });
  const require = createRequire(import.meta.url);
  const Module = require("node:module");
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? anything : load(name, ...rest));
  require("node:crypto"); // as much else, an extension host has it already
  const spent = () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000;
  const begin = spent();
  const extension = require(bundle);
  const loaded = spent();
  extension.activate({
    subscriptions: [],
    extensionPath: root,
    secrets: anything,
    globalState: anything,
    workspaceState: anything,
  });
  console.log(JSON.stringify({ load: loaded - begin, activate: spent() - loaded }));
  process.exit();
}

if (process.argv.includes("--activate")) activate();

const bytes = readdirSync(join(root, "dist"))
  .filter((name) => /\.(js|css)$/.test(name))
  .reduce((sum, name) => sum + statSync(join(root, "dist", name)).size, 0);

// Other work on the machine only adds to this, so the quickest of several fresh processes tells what the code needs.
const runs = Array.from({ length: 9 }, () =>
  JSON.parse(
    execFileSync(process.execPath, [fileURLToPath(import.meta.url), "--activate"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }),
  ),
).sort((a, b) => a.load + a.activate - (b.load + b.activate));
const { load, activate: active } = runs[0];

console.log(`bundles: ${Math.round(bytes / 1000)} kB of ${budget.bytes / 1000} kB`);
console.log(
  `activation: ${load.toFixed(1)} ms to load and ${active.toFixed(1)} ms to activate, of ${budget.milliseconds} ms`,
);
if (bytes > budget.bytes || load + active > budget.milliseconds) {
  console.error("The extension costs more than it may.");
  process.exit(1);
}
