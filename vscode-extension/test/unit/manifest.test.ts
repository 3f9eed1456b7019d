import assert from "node:assert/strict";
import { describe, it } from "node:test";
import manifest from "../../package.json";
import texts from "../../package.nls.json";
import { table } from "../../src/commands/table";

const text = JSON.stringify(manifest);
const declared = manifest.contributes.commands.map(({ command }) => command.replace("sandboxAgent.", ""));

describe("the manifest", () => {
  it("declares every command of the table", () => {
    for (const name of Object.keys(table)) assert.ok(declared.includes(name), name);
  });

  it("names only commands that are declared in menus, key bindings, welcome texts and walkthroughs", () => {
    const named = [
      ...Object.values(manifest.contributes.menus).flatMap((menu: { command?: string }[]) =>
        menu.map((one) => one.command ?? ""),
      ),
      ...manifest.contributes.keybindings.map(({ command }) => command),
      ...[...JSON.stringify(texts).matchAll(/command:([\w.]+)/g)].map((match) => match[1] ?? ""),
    ].filter((command) => command.startsWith("sandboxAgent.") && !command.endsWith(".focus"));
    for (const command of named) assert.ok(declared.includes(command.replace("sandboxAgent.", "")), command);
  });

  it("has every command where keys reach it: in the palette, or in the menu of an entry, not as its button alone", () => {
    const menus = manifest.contributes.menus;
    const hidden = menus.commandPalette.filter(({ when }) => when === "false").map(({ command }) => command);
    const listed = menus["view/item/context"].filter(({ group }) => !group.startsWith("inline"));
    for (const command of hidden)
      assert.ok(
        listed.some((entry) => entry.command === command),
        command,
      );
    for (const { command, when, group } of menus["view/item/context"].filter(({ group }) => group.startsWith("inline")))
      assert.ok(
        listed.some((entry) => entry.command === command && entry.when === when),
        `${command} ${group}`,
      );
  });

  it("has a text for every key, and a key for every text", () => {
    const used = new Set([...text.matchAll(/"%([^%]+)%"/g)].map((match) => match[1]));
    assert.deepEqual([...used].sort(), Object.keys(texts).sort());
  });

  it("has every key binding depend on something", () => {
    for (const { when, command } of manifest.contributes.keybindings) assert.ok(when, command);
  });

  it("begins to work only when a view or a command needs it", () => {
    assert.deepEqual(manifest.activationEvents, []);
  });

  it("says what it does where it is not trusted, and refuses virtual folders with a reason", () => {
    assert.equal(manifest.capabilities.untrustedWorkspaces.supported, "limited");
    assert.equal(manifest.capabilities.virtualWorkspaces.supported, false);
    assert.ok(manifest.capabilities.virtualWorkspaces.description);
    assert.deepEqual(manifest.extensionKind, ["workspace"]);
  });
});
