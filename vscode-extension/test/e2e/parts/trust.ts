// A folder that is not trusted: its sessions can be read, nothing runs; trust makes everything work, without a restart.
import assert from "node:assert/strict";
import type { It } from "../harness/suite.ts";

export function trust(it: It): void {
  it("does nothing in a folder that is not trusted", async ({ window, editor }) => {
    await window.palette();
    assert.deepEqual(editor.servers(), [], "nothing is started before something needs it");
    await window.page.keyboard.press("Escape");
    await window.showViews();
    await window.sideBar("This folder is not trusted").waitFor();
    const offered = await window.offered("Sandbox Agent: S");
    assert.ok(offered.includes("Sandbox Agent: Show Sessions"));
    assert.ok(!offered.includes("Sandbox Agent: Switch Backend…"), "what runs something is not offered");
  });

  it("works as soon as the folder is trusted", async ({ window }) => {
    await window.trust();
    await window.sideBar("There is no session in this folder yet").waitFor();
  });
}
