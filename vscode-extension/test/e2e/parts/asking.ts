// What a user does most: ask, read, approve, rename, fork, destroy.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { upwards } from "../script.ts";
import { picture, type It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

export function asking(it: It): void {
  it("Ask: the answer comes as it is made, as Markdown", async ({ window, conversation, at }) => {
    await window.command("Ask…");
    await window.enter("count slowly");
    await conversation.log.getByText(upwards.first).waitFor();
    await conversation.button("Stop").waitFor();
    assert.equal(await conversation.log.getByText(upwards.last).count(), 0, "it is not all there yet");
    await conversation.log.getByText(upwards.last).waitFor();
    await conversation.ask("what is here");
    await conversation.log.locator("strong", { hasText: "greeting" }).waitFor();
    await conversation.log.locator("pre code", { hasText: "fmt.Println" }).waitFor();
    assert.equal((await at.sessions()).length, 1);
    await picture(window, "conversation");
  });

  it("an approval is shown and answered", async ({ window, conversation, folder }) => {
    await conversation.ask("touch the log");
    await conversation.log.getByText("echo once >> log").first().waitFor();
    await window.status("Asks you").waitFor();
    assert.ok(!existsSync(join(folder, "log")), "it waits");
    await picture(window, "approval");
    await conversation.button("Allow").first().click();
    await conversation.log.getByText("Logged.").waitFor();
    assert.equal(readFileSync(join(folder, "log"), "utf8"), "once\n");
  });

  it("Rename Session: the title stays after more turns", async ({ window, conversation, at }) => {
    await window.command("Rename Session…");
    await window.enter("My own title");
    await window.tree("My own title").waitFor();
    await conversation.ask("and then");
    await conversation.log.getByText("You said: and then").waitFor();
    await until("the end of the turn", async () => (await at.sessions())[0]?.state.status === "idle");
    const [session] = await at.sessions();
    assert.deepEqual([session?.title, session?.titleSource], ["My own title", "user"]);
    await window.tree("My own title").waitFor();
  });

  it("Fork Session: the fork is below what it was forked from", async ({ window, at }) => {
    await window.command("Fork Session…");
    await window.enter("Another way");
    const fork = window.tree("Another way");
    await fork.waitFor();
    assert.equal(await fork.getAttribute("aria-level"), "2");
    assert.equal(await window.tree("My own title").getAttribute("aria-level"), "1");
    const sessions = await at.sessions();
    const parent = sessions.find((session) => session.title === "My own title");
    assert.equal(sessions.find((session) => session.title === "Another way")?.parentId, parent?.id);
    await picture(window, "sessions");
  });

  it("Destroy asks first", async ({ window, conversation, at }) => {
    await window.tree("Another way").click();
    await conversation.title("Another way").waitFor();
    await window.command("Destroy…");
    const question = window.dialog("Another way");
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
    assert.equal((await at.sessions()).length, 2);
    await window.command("Destroy…");
    await question.getByRole("button", { name: "Destroy" }).click();
    await window.tree("Another way").waitFor({ state: "detached" });
    await until("its end", async () => (await at.sessions()).length === 1);
  });
}
