// Reviewing what the agent has changed: file by file, hunk by hunk, accepted or taken back.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { picture, type It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

export function reviewing(it: It): void {
  it("changes are listed by file and hunk, and a hunk is taken back", async ({ window, conversation, folder }) => {
    const file = join(folder, "poem.txt");
    await conversation.begin();
    await conversation.ask("improve the poem");
    await conversation.allow();
    await conversation.log.getByText("It is better now.").waitFor();
    await window.command("Focus on Changes View");
    await window.tree("poem.txt").click();
    await window.page.locator(".monaco-diff-editor .line-insert, .monaco-diff-editor .char-insert").first().waitFor();
    await picture(window, "diff");
    await window.expand("poem.txt");
    await window.act("violets are violet", "Accept Change");
    await window.tree("violets are violet").filter({ hasText: "accepted" }).waitFor();
    await window.act("and so are you", "Reject Change");
    await until("the hunk's end", () => !readFileSync(file, "utf8").includes("mostly"));
    assert.match(readFileSync(file, "utf8"), /violets are violet/);
    await window.tree("and so are you").waitFor({ state: "detached" });
  });

  it("a change is rejected with a reason, which the agent is told", async ({ window, conversation, at }) => {
    await window.act("violets are violet", "Reject Change with Feedback…");
    await window.enter("Violets are blue here.");
    await conversation.log.getByText("Violets are blue here.").first().waitFor();
    await until("the end of the turn", async () => (await at.sessions())[0]?.state.status === "idle");
  });

  it("all changes are shown in one editor", async ({ window, conversation }) => {
    await conversation.ask("improve the poem once more");
    await conversation.allow();
    await conversation.log.getByText("It is even better now.").waitFor();
    await window.command("Show Diff");
    await window.page.locator(".multiDiffEntry, .multi-diff-root-floating-menu").first().waitFor();
    await window.run("View: Close All Editors");
  });
}
