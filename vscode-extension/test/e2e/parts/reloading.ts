// What goes on while the window does not: reloads, and a server that is killed. Nothing is lost, nothing is there twice.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { signal } from "../harness/processes.ts";
import { downwards, upwards } from "../script.ts";
import type { It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

export function reloading(it: It): void {
  it("a reload during a stream: the answer goes on, and is there once", async ({ window, conversation }) => {
    await conversation.begin();
    await conversation.ask("count slowly");
    await conversation.log.getByText(upwards.first).waitFor();
    await window.reload();
    await conversation.log.getByText(upwards.last).waitFor();
    await conversation.button("Stop").waitFor({ state: "detached" });
    assert.equal(await conversation.log.getByText(upwards.first).count(), 1);
    assert.equal(await conversation.log.getByText("count slowly").count(), 1);
  });

  it("a reload while an approval waits: it still waits, and what it allows runs once", async ({
    window,
    conversation,
    folder,
  }) => {
    await conversation.ask("touch the diary");
    await conversation.button("Allow").first().waitFor();
    await window.reload();
    await conversation.allow();
    await conversation.log.getByText("Noted.").waitFor();
    assert.equal(readFileSync(join(folder, "diary"), "utf8"), "once\n");
    assert.equal(await conversation.log.getByText("Noted.").count(), 1);
    assert.equal(await conversation.button("Allow").count(), 0);
  });

  it("a server that is killed comes back, and the turn is there once", async ({ editor, conversation }) => {
    await conversation.ask("count backwards");
    await conversation.log.getByText(downwards.first).waitFor();
    const [server] = editor.servers();
    assert.ok(server, "there is a server");
    signal(server.pid, "SIGKILL");
    const another = () => editor.servers().find(({ pid }) => pid !== server.pid);
    await until("another server", another);
    await conversation.log.getByText(downwards.last).waitFor();
    assert.equal(await conversation.log.getByText(downwards.first).count(), 1);
    await conversation.ask("still here");
    await conversation.log.getByText("You said: still here").waitFor();
  });
}
