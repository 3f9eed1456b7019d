// A program that does not fit the extension or dies at once: it is said, with what helps, and all works again without a reload once
// it is repaired.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { signal } from "../harness/processes.ts";
import type { StandIn } from "../harness/standin.ts";
import { picture, type It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

export function breaking(it: It, program: StandIn): void {
  it("a server of another version says so, with what helps", async ({ window, editor }) => {
    await window.showViews();
    const server = await until("a server to be exchanged", () => editor.servers()[0]);
    // The version is exchanged by one of the same length, since messages begin with theirs.
    program.is(
      `const { spawn } = require("node:child_process");
const child = spawn("$REAL", process.argv.slice(2), { stdio: ["inherit", "pipe", "inherit"] });
child.stdout.on("data", (data) => process.stdout.write(
  Buffer.from(data.toString("latin1").replace(/"version":"0\\.\\d\\.\\d"/, '"version":"9.9.9"'), "latin1")));
child.on("exit", (code) => process.exit(code ?? 1));`,
      process.execPath,
    );
    signal(server.pid, "SIGKILL");
    const warning = window.notification("The program sandbox-agent is version 9.9.9");
    await warning.getByRole("button", { name: "Open Settings" }).waitFor();
    await picture(window, "another-version");
    await warning.getByRole("button", { name: /Clear/ }).click();
  });

  it("a program that dies at once is tried again quietly, and works without a reload once it is repaired", async (world) => {
    const { window, conversation, at, editor } = world;
    const starts = join(at.home, "starts");
    await conversation.begin();
    const server = await until("the server", () => editor.servers()[0]);
    await window.run("Notifications: Clear All Notifications");
    program.is(`echo >> '${starts}'; echo 'no such library' >&2; exit 3`);
    signal(server.pid, "SIGKILL");
    await window.status("Agent restarts").waitFor();
    await until("several starts", () => existsSync(starts) && readFileSync(starts, "utf8").length >= 3);
    await conversation.frame.getByText("The server ended (status 3). It said last: no such library").waitFor();
    assert.equal(await window.page.locator(".notification-toast").count(), 0, "nobody is told of each start");
    await picture(window, "agent-restarts");
    program.isTrue();
    await window.status("Ready").waitFor();
    await conversation.ask("here again");
    await conversation.log.getByText("You said: here again").waitFor();
  });
}
