// By keys alone: ask, answer, and use the commands of the input.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { upwards } from "../script.ts";
import type { It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

export function keyboard(it: It): void {
  it("keys alone: ask, go to the question, answer it", async ({ window, conversation, folder }) => {
    const { keyboard } = window.page;
    await conversation.begin();
    await window.command("Focus on Conversation View");
    await conversation.focus(conversation.input);
    await keyboard.type("keep a note");
    await keyboard.press("Enter");
    await conversation.button("Allow").waitFor();
    await conversation.focus(conversation.button("Allow"));
    await keyboard.press("Enter");
    await conversation.log.getByText("Kept.").waitFor();
    assert.ok(existsSync(join(folder, "note")));
  });

  it("slash commands are completed, done, and refused where there is none", async ({ window, conversation, at }) => {
    await conversation.input.fill("/ti");
    await conversation.frame.getByRole("option", { name: "/title" }).waitFor();
    await window.page.keyboard.press("Tab");
    await window.page.keyboard.type("By slash");
    await window.page.keyboard.press("Enter");
    await window.tree("By slash").waitFor();
    const turns = (await at.sessions())[0]?.turnId;
    await conversation.input.fill("/nonsense now");
    await conversation.input.press("Enter");
    await conversation.frame.getByRole("alert").filter({ hasText: "/nonsense" }).waitFor();
    assert.equal(await conversation.input.inputValue(), "/nonsense now", "what was written stays");
    assert.equal((await at.sessions())[0]?.turnId, turns, "it was not sent");
    await conversation.input.fill("");
  });

  it("what is asked while a turn runs waits, and can be taken back", async ({ conversation, at }) => {
    await conversation.ask("count slowly");
    await conversation.log.getByText(upwards.first).waitFor();
    await conversation.input.fill("and after that");
    await conversation.input.press("Enter");
    const waiting = conversation.frame.locator(".queue").getByText("and after that");
    await waiting.waitFor();
    await conversation.button(/^Remove/).click();
    await waiting.waitFor({ state: "detached" });
    await conversation.button("Stop").click();
    await conversation.button("Stop").waitFor({ state: "detached" });
    await until("the end", async () => (await at.sessions())[0]?.state.status === "idle");
    assert.equal(await conversation.log.getByText("and after that").count(), 0);
  });
}
