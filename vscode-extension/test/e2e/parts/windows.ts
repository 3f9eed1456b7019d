// Two windows on one session, and one window on two folders.
import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Conversation } from "../harness/conversation.ts";
import { picture, type It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";
import { Workbench } from "../harness/workbench.ts";

export function windows(it: It): void {
  it("two windows on one session: both show it, one answers, and what is written in the other stays", async (world) => {
    const { window, conversation, editor, folder } = world;
    await conversation.begin();
    await conversation.ask("what is here");
    await conversation.log.locator("strong", { hasText: "greeting" }).waitFor();
    const other = await Workbench.open(window.page.context(), editor.url(folder));
    try {
      const there = new Conversation(other);
      await other.showViews();
      await there.log.locator("strong", { hasText: "greeting" }).waitFor();
      await conversation.input.fill("a draft that is not sent");
      await there.ask("touch the log");
      await conversation.log.getByText("touch the log").first().waitFor();
      await conversation.button("Allow").waitFor();
      await window.status("Asks you").waitFor();
      await there.allow();
      await conversation.button("Allow").waitFor({ state: "detached" });
      await conversation.log.getByText("Logged.").waitFor();
      await there.log.getByText("Logged.").waitFor();
      assert.equal(readFileSync(join(folder, "log"), "utf8"), "once\n");
      assert.equal(await conversation.input.inputValue(), "a draft that is not sent");
      assert.equal(await there.input.inputValue(), "", "a draft is its window's own");
    } finally {
      await other.page.close();
    }
    await window.reload();
    await until("the draft again", async () => (await conversation.input.inputValue()) === "a draft that is not sent");
    await conversation.input.fill("");
  });
}

export function roots(it: It): void {
  it("two folders in one window: each has its sessions and its changes, and folders may come and go", async (world) => {
    const { window, conversation, at, editor } = world;
    const greeting = { "greeting.txt": "first\nhello\nlast\n" };
    const [one, two] = [at.folder("one", greeting), at.folder("two", greeting)];
    const file = join(at.home, "both.code-workspace");
    const open = (...paths: string[]): void => {
      writeFileSync(`${file}.next`, JSON.stringify({ folders: paths.map((path) => ({ path })) }));
      renameSync(`${file}.next`, file); // VS Code would take a file that is half written for one without folders
    };
    const begin = async (name: string): Promise<void> => {
      await window.command("New Session…");
      await window.pick(name);
      await window.pick("local folder");
      await conversation.title(/^Session [0-9a-f]+$/).waitFor();
      await window.command("Rename Session…");
      await window.enter(`In ${name}`);
      await conversation.title(`In ${name}`).waitFor();
    };

    open(one, two);
    await window.goto(editor.workspaceUrl(file));
    await window.run("View: Show Explorer");
    // Now and then VS Code has read the file of a workspace before it could, and shows no folder until that file changes.
    const noFolder = window.sideBar("You have not yet added a folder to the workspace.");
    await window.tree(/^two/).or(noFolder).first().waitFor();
    if (await noFolder.isVisible()) open(one, two);
    await window.tree(/^two/).waitFor();
    await window.showViews();
    await window.trust();
    await begin("one");
    await begin("two");
    await window.tree(/^In one.*one/).waitFor();
    await conversation.ask("greet briefly");
    await conversation.allow();
    await conversation.log.getByText("It is brief now.").waitFor();
    assert.match(readFileSync(join(two, "greeting.txt"), "utf8"), /hi/);
    assert.match(readFileSync(join(one, "greeting.txt"), "utf8"), /hello/);
    await window.command("Focus on Changes View");
    await window.tree("greeting.txt").click();
    await window.page.locator(".monaco-diff-editor .view-line").filter({ hasText: "hi" }).waitFor();
    await picture(window, "two-folders");
    await window.run("View: Close All Editors");
    await window.tree("In one").click();
    await conversation.title("In one").waitFor();
    await window.tree("greeting.txt").waitFor({ state: "detached" });

    open(one);
    await window.tree("In two").waitFor({ state: "detached" });
    await window.tree("In one").waitFor();
    open(one, two);
    await window.tree("In two").click();
    await conversation.title("In two").waitFor();
    await conversation.ask("still there");
    await conversation.log.getByText("You said: still there").waitFor();
  });
}
