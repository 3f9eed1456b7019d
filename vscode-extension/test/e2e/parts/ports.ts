// Open Port…: what a server of the agent's shows, here and in a container.
import assert from "node:assert/strict";
import { join } from "node:path";
import { mkdirSync, writeFileSync } from "node:fs";
import { servedPort } from "../script.ts";
import type { It } from "../harness/suite.ts";

export function ports(it: It): void {
  it("Open Port: a server here is opened in the browser, and one that nobody reaches is not", async (world) => {
    const { window, conversation, folder } = world;
    mkdirSync(join(folder, "served"), { recursive: true });
    writeFileSync(join(folder, "served/note.txt"), "a served note\n");
    await conversation.begin();
    await conversation.ask("what else");
    await conversation.log.getByText("You said: what else").waitFor();
    await window.command("Open Port…");
    await window.enter(String(servedPort));
    await window.notification("have the agent start the server with network access").waitFor();
    await conversation.ask("serve the notes");
    await conversation.allow();
    await conversation.log.getByText("They are served.").waitFor();
    const opened = window.page.context().waitForEvent("page");
    await window.command("Open Port…");
    await window.enter(String(servedPort));
    const page = await opened;
    await page.getByText("note.txt").waitFor();
    await page.close();
  });

  it("Open Port: a server in a container is reached at the container's address", async (world) => {
    if (!process.env.DOCKER_IMAGE) {
      assert.ok(!process.env.CI, "there is a Docker engine with the image of the tests");
      return;
    }
    const { window, conversation } = world;
    await window.command("Switch Backend…");
    await window.pick("Docker");
    await window.dialog("to Docker?").getByRole("button", { name: "Switch" }).click();
    await conversation.button("Docker").waitFor();
    await conversation.ask("serve the notes");
    await conversation.allow();
    await conversation.log.getByText("They are served.").nth(1).waitFor();
    await window.command("Open Port…");
    await window.enter(String(servedPort));
    const question = window.dialog(`:${servedPort}`); // VS Code asks before it opens what is elsewhere
    const [url] = /http:\/\/[\d.]+:\d+/.exec(await question.innerText()) ?? [];
    assert.ok(url, "its address is shown");
    assert.match(await (await fetch(url)).text(), /note\.txt/);
    await question.getByRole("button", { name: "Cancel" }).click();
  });
}
