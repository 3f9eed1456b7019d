import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commands } from "vscode";
import { opensSelected, registerOpening } from "../../src/entries";

describe("opening an entry of a tree", () => {
  it("means the selected one, by a command whose arguments cannot be forgotten", async () => {
    const view: { selection: string[] } = { selection: [] };
    const opened: string[] = [];
    const registration = registerOpening("view", view, (entry) => opened.push(entry));
    const { command, arguments: given } = opensSelected("view");
    assert.equal(given, undefined);
    await commands.executeCommand(command);
    view.selection = ["it"];
    await commands.executeCommand(command);
    assert.deepEqual(opened, ["it"]);
    registration.dispose();
  });
});
