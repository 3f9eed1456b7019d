// The controls of the conversation: those that do more than run a command.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/wait.ts";
import { asked, idle, latest, say, type Cases } from "./steps.ts";

export const page: Cases = {
  "a question is answered where it stands": async (world) => {
    const { keys, at, conversation, folder } = world;
    await asked(world, "make the mark");
    await keys.part(conversation.button("Deny and Say Why…"), "Shift+Tab");
    await keys.press("Enter");
    await keys.type("Not so.");
    await keys.press("Escape");
    await conversation.frame.locator("form").waitFor({ state: "detached" });
    await keys.part(conversation.button("Allow"), "Shift+Tab");
    await keys.press("Enter");
    await conversation.log.getByText("Marked.").waitFor();
    assert.ok(existsSync(join(folder, "mark")));
    await idle(at);
    await keys.part(conversation.input); // what had the keyboard is gone
  },
  "a call is opened, its output read, and left": async ({ keys, conversation }) => {
    const head = conversation.log.getByRole("button", { name: /touch mark/ });
    await keys.part(head, "Shift+Tab");
    await keys.press("Enter");
    await conversation.log.locator("pre.output").filter({ hasText: "mark" }).waitFor();
    await keys.press("Enter");
    await conversation.log.locator("pre.output").waitFor({ state: "detached" });
    await keys.press("Escape", "Escape");
    await keys.part(conversation.input);
  },
  "slash commands are completed, done, and refused where there is none": async ({ keys, conversation, at }) => {
    const { turnId } = await latest(at);
    await keys.type("/ti");
    await conversation.frame.getByRole("option", { name: "/title" }).waitFor();
    await keys.press("Tab");
    await keys.type("Parent");
    await keys.press("Enter");
    await until("the title", async () => (await latest(at)).title === "Parent");
    await until("the input to be empty", async () => (await conversation.input.inputValue()) === "");
    await keys.type("/nonsense now");
    await keys.press("Enter");
    await conversation.frame.getByRole("alert").filter({ hasText: "/nonsense" }).waitFor();
    assert.equal(await conversation.input.inputValue(), "/nonsense now", "what was written stays");
    assert.equal((await latest(at)).turnId, turnId, "it was not sent");
    await keys.replace("");
  },
  "files are completed, and earlier requests come back": async ({ keys, conversation }) => {
    await keys.type("look at @gree");
    await conversation.frame.getByRole("option", { name: "greeting.txt" }).waitFor();
    await keys.press("Enter");
    assert.equal(await conversation.input.inputValue(), "look at @greeting.txt ");
    await keys.replace("");
    await keys.press("ArrowUp");
    assert.equal(await conversation.input.inputValue(), "make the mark");
    await keys.press("ArrowDown");
    assert.equal(await conversation.input.inputValue(), "");
  },
  "what waits for the turn is edited and taken back, and the turn is stopped": async (world) => {
    const { keys, at, conversation } = world;
    await say(world, "wait for me");
    await conversation.button("Stop Command").waitFor();
    await keys.type("and after that");
    await keys.press("Enter");
    const queue = conversation.frame.locator(".queue");
    await queue.getByText("and after that").waitFor();
    await keys.part(conversation.button("Edit"), "Shift+Tab");
    await keys.press("Enter");
    await queue.getByRole("textbox").waitFor();
    await keys.replace("and after all");
    await keys.press("Tab", "Enter");
    await queue.getByText("and after all").waitFor();
    await keys.part(conversation.button("Remove"));
    await keys.press("Enter");
    await queue.waitFor({ state: "detached" });
    await keys.part(conversation.button("Stop"), "Shift+Tab");
    await keys.press("Enter");
    await idle(at);
    assert.equal(await conversation.log.getByText("and after all").count(), 0);
    await keys.part(conversation.input);
  },
};
