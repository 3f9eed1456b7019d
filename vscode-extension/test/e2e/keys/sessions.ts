// The commands on sessions: made, shown, named, forked, kept, moved, ended.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness/wait.ts";
import { asked, idle, latest, type Cases } from "./steps.ts";

/** Where the session begins that all others of the table use. */
export const beginning: Cases = {
  newSession: async ({ keys, conversation, at }) => {
    await keys.command("New Session…");
    await keys.pick("local folder");
    await conversation.title(/^Session [0-9a-f]+$/).waitFor();
    assert.equal((await at.sessions()).length, 1);
    await keys.type("and what I type is in the input");
    assert.equal(await conversation.input.inputValue(), "and what I type is in the input");
    await keys.write("");
  },
  renameSession: async ({ keys, at, window }) => {
    await keys.entry("Sessions", /^Session/);
    await keys.menu("Rename Session…");
    await keys.enter("Renamed");
    await window.tree("Renamed").waitFor();
    assert.equal((await latest(at)).title, "Renamed");
  },
  configureSession: async ({ keys, conversation }) => {
    await keys.command("Choose Model and Approval Mode…");
    await keys.pick("Reasoning effort");
    await keys.enter("high");
    await conversation.button(/\(high\)/).waitFor();
  },
};

/** Cases that end what was begun. */
export const ending: Cases = {
  forkSession: async (world) => {
    const { keys, at, window } = world;
    await keys.entry("Sessions", "Parent");
    await keys.menu("Fork Session…");
    await keys.enter("Child");
    await window.tree("Child").waitFor();
    const [child, parent] = await at.sessions();
    assert.deepEqual([child?.title, child?.parentId], ["Child", parent?.id]);
  },
  adoptFork: async (world) => {
    const { keys, at, conversation, folder } = world;
    await conversation.title("Child").waitFor();
    await asked(world, "touch the log");
    await keys.part(conversation.button("Allow"), "Shift+Tab");
    await keys.press("Enter");
    await idle(at);
    assert.ok(!existsSync(join(folder, "log")), "the fork has a folder of its own");
    await keys.command("Adopt Fork…");
    await keys.answer("Adopt what", "Adopt");
    await until("what was adopted", () => existsSync(join(folder, "log")));
  },
  openFork: async ({ keys, at, window }) => {
    const opened = window.page.context().waitForEvent("page");
    await keys.entry("Sessions", "Child");
    await keys.menu("Open Fork in New Window");
    const page = await opened;
    const fork = (await at.sessions()).find(({ title }) => title === "Child");
    assert.ok(decodeURIComponent(page.url()).includes(fork?.backend.workspaceRoot ?? "a folder"), page.url());
    await page.close();
  },
  openSession: async ({ keys, conversation }) => {
    await keys.entry("Sessions", "Parent");
    await keys.press("Enter");
    await conversation.title("Parent").waitFor();
    await keys.entry("Sessions", "Child");
    await keys.menu("Open Session");
    await conversation.title("Child").waitFor();
  },
  showSessions: async ({ keys, conversation }) => {
    await keys.command("Show Sessions");
    await keys.pick("Parent");
    await conversation.title("Parent").waitFor();
  },
  refreshSessions: async ({ keys, at, window }) => {
    const child = (await at.sessions()).find(({ title }) => title === "Child");
    await at.agent("title", child?.id ?? "", "Elsewhere");
    await keys.command("Refresh Sessions");
    await window.tree("Elsewhere").waitFor();
  },
  pause: async ({ keys, at }) => {
    await keys.command("Pause");
    await until("the pause", async () => (await at.sessions()).some(({ state }) => state.status === "paused"));
  },
  compact: async ({ keys, window }) => {
    await keys.command("Compact Conversation");
    await window.notification("The conversation is shortened").waitFor();
  },
  switchBackend: async (world) => {
    const { keys, at, window } = world;
    await keys.command("Switch Backend…");
    await keys.pick("Docker");
    if (process.env.DOCKER_IMAGE) {
      await keys.answer("to Docker?", "Switch");
      await until("the move", async () => (await at.sessions()).some(({ backend }) => backend.kind === "docker"));
    } else {
      assert.ok(!process.env.CI, "there is a Docker engine with the image of the tests");
      await window.notification("Docker is not available").waitFor();
    }
  },
  destroy: async ({ keys, at, window }) => {
    await keys.entry("Sessions", "Elsewhere");
    await keys.menu("Destroy…");
    await keys.answer("Destroy “Elsewhere”?", "Cancel");
    await keys.menu("Destroy…"); // the entry has the keyboard again
    await keys.answer("Destroy “Elsewhere”?", "Destroy");
    await window.tree("Elsewhere").waitFor({ state: "detached" });
    assert.equal((await at.sessions()).length, 1);
  },
};
