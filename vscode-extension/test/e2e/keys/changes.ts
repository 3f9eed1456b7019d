// The commands on changes and checkpoints, most of them in the view that lists both.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Keys } from "../harness/keys.ts";
import type { World } from "../harness/suite.ts";
import type { Workbench } from "../harness/workbench.ts";
import { until } from "../harness/wait.ts";
import { asked, idle, type Cases } from "./steps.ts";

const kept = "Before the rest"; // the summary of the checkpoint that is taken here

/** Opens what is below an entry, and goes to one of the entries there. */
async function below(keys: Keys, above: string, text: string): Promise<void> {
  await keys.entry("Changes", above);
  await keys.press("ArrowRight");
  await keys.entry("Changes", text);
}

/** Has the agent change the poem, and waits for the end of that. */
async function improved(world: World): Promise<void> {
  const { keys, at, conversation } = world;
  await asked(world, "improve the poem");
  await keys.part(conversation.button("Allow"), "Shift+Tab");
  await keys.press("Enter");
  await conversation.button("Allow").waitFor({ state: "detached" });
  await idle(at);
}

/** Waits until the poem is this. */
async function reads(folder: string, poem: RegExp): Promise<void> {
  const text = () => readFileSync(join(folder, "poem.txt"), "utf8");
  await until(
    () => `${String(poem)}; the poem is ${text()}`,
    () => poem.test(text()),
  );
}

/** Waits until the view says that it compares with a checkpoint. */
async function comparedWith(window: Workbench, summary: string): Promise<void> {
  await window.page
    .locator(".pane-header")
    .filter({ hasText: `since ${summary}` })
    .waitFor();
}

/** Waits for the editor of many diffs, and closes it. */
async function manyDiffs({ keys, window }: World): Promise<void> {
  const editor = window.page.locator(".multiDiffEntry").first();
  await editor.waitFor();
  await keys.run("View: Close All Editors");
  await editor.waitFor({ state: "detached" });
}

export const changes: Cases = {
  restoreCheckpoint: async (world) => {
    const { keys, folder } = world;
    await improved(world);
    await keys.command("Restore Checkpoint…");
    await keys.pick("Start of the session");
    await keys.answer("Restore the workspace of", "Restore");
    await reads(folder, /^violets are blue\n[^]*^and so are you$/m);
    await keys.notified("restored", "Undo");
    await reads(folder, /^violets are violet\n[^]*mostly/m);
  },
  restoreThisCheckpoint: async ({ keys, folder }) => {
    await below(keys, "Checkpoints", "Start of the session");
    await keys.menu("Restore This Checkpoint…");
    await keys.answer("Restore the workspace of", "Restore");
    await reads(folder, /^violets are blue\n[^]*^and so are you$/m);
  },
  openChange: async (world) => {
    const { keys, window } = world;
    await improved(world);
    await keys.entry("Changes", "poem.txt");
    await keys.press("Enter");
    await window.page.locator(".monaco-diff-editor .line-insert, .monaco-diff-editor .char-insert").first().waitFor();
  },
  acceptChange: async ({ keys, window }) => {
    await below(keys, "poem.txt", "violets are violet");
    await keys.menu("Accept Change");
    await window.tree("violets are violet").filter({ hasText: "accepted" }).waitFor();
  },
  withdrawAcceptance: async ({ keys, window }) => {
    await keys.entry("Changes", "violets are violet");
    await keys.menu("Mark as Not Yet Accepted");
    await window.tree("violets are violet").filter({ hasNotText: "accepted" }).waitFor();
  },
  rejectChange: async ({ keys, folder }) => {
    await keys.entry("Changes", "and so are you");
    await keys.menu("Reject Change");
    await reads(folder, /^violets are violet\n[^]*^and so are you$/m);
  },
  rejectWithFeedback: async ({ keys, at, conversation, folder }) => {
    await keys.entry("Changes", "violets are violet");
    await keys.menu("Reject Change with Feedback…");
    await keys.enter("Violets are blue here.");
    await conversation.log.getByText("Violets are blue here.").first().waitFor();
    await reads(folder, /^violets are blue$/m);
    await idle(at);
  },
  refreshChanges: async ({ keys, folder, window }) => {
    writeFileSync(join(folder, "poem.txt"), "a new poem\n");
    await keys.command("Refresh Changes");
    await window.tree("poem.txt").waitFor();
  },
  acceptAllChanges: async ({ keys, window }) => {
    await keys.command("Accept All Changes");
    await window.tree("poem.txt").filter({ hasText: "accepted" }).waitFor();
  },
  openAllChanges: async (world) => {
    await world.keys.command("Open All Changes");
    await manyDiffs(world);
  },
  showDiff: async (world) => {
    await world.keys.command("Show Diff");
    await manyDiffs(world);
  },
  takeCheckpoint: async ({ keys, window }) => {
    await keys.command("Take Checkpoint");
    await keys.enter(kept);
    await window.notification("are kept").waitFor();
  },
  compareWithCheckpoint: async ({ keys, window }) => {
    await below(keys, "Checkpoints", kept);
    await keys.press("Enter");
    await comparedWith(window, kept);
  },
  compareWithStart: async ({ keys, window, folder }) => {
    writeFileSync(join(folder, "poem.txt"), "the newest poem\n");
    await keys.command("Refresh Changes");
    await keys.entry("Changes", "poem.txt");
    await keys.command("Show Changes Since the Start of the Session");
    await comparedWith(window, "Start of the session");
  },
  showCheckpoint: async (world) => {
    await world.keys.entry("Changes", kept);
    await world.keys.menu("Show What This Checkpoint Brought");
    await manyDiffs(world);
  },
};
