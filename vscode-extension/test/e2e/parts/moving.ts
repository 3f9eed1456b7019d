// Switch Backend with a real engine: the next command runs in the container, on the files of the session.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { It } from "../harness/suite.ts";

export function moving(it: It): void {
  it("Switch Backend: the next command runs in a container", async ({ window, conversation, at, folder }) => {
    if (!process.env.DOCKER_IMAGE) {
      assert.ok(!process.env.CI, "there is a Docker engine with the image of the tests");
      return;
    }
    await window.command("Switch Backend…");
    await window.pick("Docker");
    await window.dialog("to Docker?").getByRole("button", { name: "Switch" }).click();
    await conversation.button("Docker").waitFor();
    assert.equal((await at.sessions())[0]?.backend.kind, "docker");
    await conversation.ask("where am I");
    await conversation.log.getByText("That is where.").waitFor();
    assert.match(await conversation.output("test -e /.dockerenv"), /^inside$/m);
    await conversation.ask("make the mark");
    await conversation.allow();
    await conversation.log.getByText("Marked.").waitFor();
    assert.ok(!existsSync(join(folder, "mark")), "it was made in the container");
  });
}
