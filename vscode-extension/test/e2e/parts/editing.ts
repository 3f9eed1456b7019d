// What the user has not saved: the agent sees it, and its own change joins it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

/** What a line of the editor says; its spaces do not break there. */
const plain = (line: string) => line.replaceAll("\u00a0", " ");

export function editing(it: It): void {
  it("the agent changes a file with unsaved text: both are there", async ({ window, conversation, folder }) => {
    const file = join(folder, "greeting.txt");
    await window.openFile("greeting.txt");
    await window.page.locator(".monaco-editor .view-lines").first().click();
    await window.page.keyboard.press("Control+End");
    await window.page.keyboard.type("mine, not saved");
    await window.page.locator(".tab.dirty").filter({ hasText: "greeting.txt" }).waitFor();
    await conversation.begin();
    await conversation.ask("greet politely");
    await conversation.allow();
    await conversation.log.getByText("It is polite now.").waitFor();
    const lines = async () => (await window.page.locator(".monaco-editor .view-line").allInnerTexts()).map(plain);
    await until("both changes in the editor", async () => (await lines()).includes("good morning"));
    assert.deepEqual(await lines(), ["first", "good morning", "last", "mine, not saved"]);
    await window.page.locator(".tab.dirty").filter({ hasText: "greeting.txt" }).waitFor();
    assert.ok(!readFileSync(file, "utf8").includes("mine"), "nothing was saved for the user");
    await window.page.locator(".monaco-editor .view-lines").first().click();
    await window.page.keyboard.press("Control+S");
    await until("the save", () => readFileSync(file, "utf8") === "first\ngood morning\nlast\nmine, not saved");
  });

  it("a file that is open and saved is changed on the disk, however often", async ({
    window,
    conversation,
    folder,
  }) => {
    const file = join(folder, "greeting.txt");
    const shown = (line: string) =>
      window.page.locator(".monaco-editor .view-line").filter({ hasText: line }).waitFor();
    for (const [time, greeting] of [
      ["in the evening", "good evening"],
      ["at night", "good night"],
    ] as const) {
      await conversation.ask(`greet ${time}`);
      await conversation.allow();
      await until("the change on the disk", () => readFileSync(file, "utf8").includes(greeting));
      await shown(greeting); // the editor has read it again
    }
    assert.equal(await window.page.locator(".tab.dirty").count(), 0);
  });
}
