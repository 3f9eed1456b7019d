// What both the user and the agent have changed, when a session comes back, a fork is adopted or a checkpoint is restored: the user
// sees both versions and decides, and Escape changes nothing.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { picture, type It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

const [theirs, mine] = ["first\nhi\nlast\n", "first\nmine\nlast\n"];

export function meeting(it: It): void {
  it("a fork is adopted: both versions are shown, and Escape leaves everything", async (world) => {
    const { window, conversation, at, folder } = world;
    const file = join(folder, "greeting.txt");
    writeFileSync(file, "first\nhello\nlast\n");
    await conversation.begin();
    await window.command("Rename Session…");
    await window.enter("The parent");
    await conversation.title("The parent").waitFor();
    await window.command("Fork Session…");
    await window.enter("");
    await conversation.title("The parent (fork #1)").waitFor();
    await conversation.ask("greet briefly");
    await conversation.allow();
    await conversation.log.getByText("It is brief now.").waitFor();
    writeFileSync(file, mine);

    await window.command("Adopt Fork…");
    const question = window.dialog("Adopt what");
    await question.getByText("greeting.txt (both sides changed the same part of it)").waitFor();
    await window.page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    assert.equal(readFileSync(file, "utf8"), mine);

    await window.command("Adopt Fork…");
    await question.getByRole("button", { name: "Compare" }).click();
    await window.rows("Take the Fork’s").waitFor();
    const shown = window.page.locator(".monaco-diff-editor .view-line");
    await shown.filter({ hasText: "hi" }).waitFor();
    await shown.filter({ hasText: "mine" }).waitFor();
    await picture(window, "both-sides");
    await window.page.keyboard.press("Escape");
    await window.rows("Take the Fork’s").waitFor({ state: "detached" });
    assert.equal(readFileSync(file, "utf8"), mine);

    await window.command("Adopt Fork…");
    await question.getByRole("button", { name: "Take the Fork’s" }).click();
    const took = window.notification("Replaced what was there: greeting.txt.");
    await took.waitFor();
    assert.equal(readFileSync(file, "utf8"), theirs);
    await took.getByRole("button", { name: "Undo" }).click();
    await until("the user's version again", () => readFileSync(file, "utf8") === mine);
    assert.deepEqual(
      (await at.sessions()).filter(({ parentId }) => parentId).map(({ title }) => title),
      ["The parent (fork #1)"],
    );
    await window.run("Notifications: Clear All Notifications");
    await window.run("View: Close All Editors");
  });

  it("a fork of a fork is named after their origin", async ({ window, conversation }) => {
    await window.command("Fork Session…");
    await window.enter("");
    await conversation.title("The parent (fork #2)").waitFor();
  });

  it("a checkpoint is restored: what is not saved stays, and is shown beside what it was", async (world) => {
    const { window, conversation, editor, folder } = world;
    const file = join(folder, "greeting.txt");
    writeFileSync(file, "first\nhello\nlast\n");
    await conversation.begin();
    await conversation.ask("greet briefly");
    await conversation.allow();
    await conversation.log.getByText("It is brief now.").waitFor();
    await window.run("View: Close All Editors");
    await window.openFile("greeting.txt");
    await window.page.locator(".monaco-editor .view-lines").first().click();
    await window.page.keyboard.press("Control+End");
    await window.page.keyboard.insertText("not saved"); // by one change, of which VS Code first says that it leaves the document clean
    const unsaved = window.page.locator(".tab.dirty").filter({ hasText: "greeting.txt" });
    await unsaved.waitFor();
    await window.command("Restore Checkpoint…");
    await window.rows("After turn 1").first().waitFor();
    await picture(window, "checkpoints");
    await window.pick("Start of the session");
    const told = window.notification("greeting.txt (it has unsaved changes in the editor) stays as it is");
    await told.getByRole("button", { name: "Compare" }).click();
    await window.page.locator(".monaco-diff-editor .view-line").filter({ hasText: "not saved" }).waitFor();
    assert.equal(readFileSync(file, "utf8"), theirs);
    await window.run("View: Close Editor");

    await until("VS Code's backup", () => editor.backups().some((text) => text.includes("not saved")));
    await window.reload(); // the text comes from the backup then
    await unsaved.waitFor();
    await window.command("Restore Checkpoint…");
    await window.pick("Start of the session");
    await told.waitFor();
    assert.equal(readFileSync(file, "utf8"), theirs);
    await window.run("File: Revert File");
    await window.run("View: Close All Editors");

    await window.command("Restore Checkpoint…");
    await window.pick("Start of the session");
    await window.dialog("to “Start of the session”?").getByRole("button", { name: "Restore" }).click();
    const restored = window.notification("Restored: greeting.txt.");
    await restored.waitFor();
    assert.equal(readFileSync(file, "utf8"), "first\nhello\nlast\n");
    await restored.getByRole("button", { name: "Undo" }).click();
    await until("what the agent wrote", () => readFileSync(file, "utf8") === theirs);
  });
}

/** The way back from a container. */
export function comingBack(it: It): void {
  it("a session comes back from a container: Escape changes nothing, then the user keeps, then takes", async (world) => {
    if (!process.env.DOCKER_IMAGE) {
      assert.ok(!process.env.CI, "there is a Docker engine with the image of the tests");
      return;
    }
    const { window, conversation, at, folder } = world;
    const file = join(folder, "greeting.txt");
    const question = window.dialog("to the local folder?");
    const back = async (): Promise<void> => {
      await window.command("Switch Backend…");
      await window.pick("local folder");
    };
    const changeBoth = async (turn: number): Promise<void> => {
      writeFileSync(file, "first\nhello\nlast\n");
      await window.command("Switch Backend…");
      await window.pick("Docker");
      await window.dialog("to Docker?").getByRole("button", { name: "Switch" }).click();
      await conversation.button("Docker").waitFor();
      await conversation.ask("greet briefly");
      await conversation.allow();
      await conversation.log
        .getByText("It is brief now.")
        .nth(turn - 1)
        .waitFor();
      writeFileSync(file, mine);
    };

    await conversation.begin();
    await changeBoth(1);
    await back();
    await question.getByText("greeting.txt (both sides changed the same part of it)").waitFor();
    await picture(window, "coming-back");
    await window.page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    assert.equal((await at.sessions())[0]?.backend.kind, "docker");
    assert.equal(readFileSync(file, "utf8"), mine);

    await back();
    await question.getByRole("button", { name: "Keep the Folder’s" }).click();
    await conversation.button("local folder").waitFor();
    const kept = window.notification("Stays as it was there: greeting.txt.");
    await kept.getByRole("button", { name: "Compare" }).waitFor();
    assert.equal(readFileSync(file, "utf8"), mine);
    await kept.getByRole("button", { name: /Clear/ }).click();

    await changeBoth(2);
    await back();
    await question.getByRole("button", { name: "Take the Session’s" }).click();
    await conversation.button("local folder").waitFor();
    const took = window.notification("Replaced what was there: greeting.txt.");
    await took.waitFor();
    assert.equal(readFileSync(file, "utf8"), theirs);
    await took.getByRole("button", { name: "Undo" }).click();
    await until("the user's version again", () => readFileSync(file, "utf8") === mine);
  });
}
