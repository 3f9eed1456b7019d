// Two windows on one session.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Conversation } from "../harness/conversation.ts";
import type { It } from "../harness/suite.ts";
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
