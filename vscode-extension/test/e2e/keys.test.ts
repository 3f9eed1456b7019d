// Every command of the extension, and the controls of the conversation, by keys alone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { approvals } from "./keys/approvals.ts";
import { asking } from "./keys/asking.ts";
import { changes } from "./keys/changes.ts";
import { installation } from "./keys/installation.ts";
import { page } from "./keys/page.ts";
import { beginning, ending } from "./keys/sessions.ts";
import { suite } from "./harness/suite.ts";

const filler = Array.from({ length: 12 }, (_, i) => `(${i})`).join("\n");
const poem = `roses are red\nviolets are blue\n${filler}\nsugar is sweet\nand so are you\n`;
const it = suite({ "greeting.txt": "first\nhello\nlast\n", "poem.txt": poem });

const commands = { ...beginning, ...asking, ...approvals, ...changes, ...installation, ...ending };

it("has a case for every command that is declared", () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
    contributes: { commands: { command: string }[] };
  };
  const declared = manifest.contributes.commands.map(({ command }) => command.replace("sandboxAgent.", ""));
  assert.deepEqual(Object.keys(commands).sort(), declared.sort());
  return Promise.resolve();
});

it("the folder is trusted", async ({ keys, window }) => {
  await keys.watch();
  await keys.run("Workspaces: Manage Workspace Trust");
  const editor = window.page.locator(".workspace-trust-editor");
  await editor.and(window.page.locator(":focus")).waitFor();
  await keys.press("Control+Enter");
  await editor.getByText("You trust this folder").waitFor();
  await keys.press("Escape");
  await editor.waitFor({ state: "detached" });
});

for (const [name, body] of Object.entries({ ...beginning, ...page, ...commands })) {
  it(name, body);
}

it("no pointer was used", ({ keys }) => {
  assert.deepEqual(keys.pointed, []);
  return Promise.resolve();
});
