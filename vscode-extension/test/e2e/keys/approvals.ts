// The commands on approvals, each on a question of its own.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/wait.ts";
import { asked, idle, items, latest, type Cases } from "./steps.ts";

export const approvals: Cases = {
  openApproval: async (world) => {
    const { keys, conversation } = world;
    await asked(world, "keep a note");
    await keys.entry("Approvals", "echo once >> note");
    await keys.press("Enter");
    await keys.part(conversation.button("Allow"), "Shift+Tab"); // the conversation has the keyboard
  },
  allowApproval: async (world) => {
    const { keys, at, conversation, folder } = world;
    await keys.press("Control+K", "Control+Enter");
    await keys.answer("echo once >> note", "Allow");
    await conversation.log.getByText("Kept.").waitFor();
    assert.equal(readFileSync(join(folder, "note"), "utf8"), "once\n");
    await idle(at);
  },
  denyApproval: async (world) => {
    const { keys, at, conversation, folder } = world;
    await asked(world, "touch the log");
    await keys.entry("Approvals", "echo once >> log");
    await keys.menu("Deny");
    await conversation.log.getByText("Logged.").waitFor();
    assert.ok(!existsSync(join(folder, "log")));
    await idle(at);
  },
  denyWithFeedback: async (world) => {
    const { keys, at, conversation } = world;
    await asked(world, "touch the log");
    await keys.entry("Approvals", "echo once >> log");
    await keys.menu("Deny with Feedback…");
    await keys.enter("No logs here.");
    await conversation.log.getByText("Logged.").nth(1).waitFor();
    await idle(at);
    assert.ok(JSON.stringify(await items(at, await latest(at))).includes("No logs here."));
  },
  allowAlways: async (world) => {
    const { keys, at, conversation, folder } = world;
    await asked(world, "touch the diary");
    await keys.entry("Approvals", "echo once >> diary");
    await keys.menu("Allow Always…");
    await keys.confirm("echo once >> diary"); // the pattern that is offered
    await keys.pick("In this session");
    await conversation.log.getByText("Noted.").waitFor();
    assert.equal(readFileSync(join(folder, "diary"), "utf8"), "once\n");
    await idle(at);
  },
  showRules: async ({ keys, at, window }) => {
    const rules = async () =>
      ((await at.agent("rules", (await latest(at)).id)) as { rules: unknown[] }[]).flatMap((list) => list.rules);
    assert.equal((await rules()).length, 1);
    await keys.command("Show What Is Allowed…");
    await window.quick.locator(".monaco-list-row").first().waitFor();
    await keys.press("ArrowDown", "Space", "Enter");
    await until("its end", async () => (await rules()).length === 0);
  },
};
