// The commands that look into the installation and around a session.
import assert from "node:assert/strict";
import type { World } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";
import type { Cases } from "./steps.ts";

/** Waits for a report that has this text, with the keyboard in it, and closes it. */
async function report({ keys, window }: World, name: string, text: string): Promise<void> {
  const tab = window.page.locator(`.tab[data-resource-name="${name}"]`);
  await tab.waitFor();
  await window.page.locator(".monaco-editor.focused .view-lines").getByText(text).first().waitFor();
  await keys.run("View: Close Editor");
  await tab.waitFor({ state: "detached" });
}

export const installation: Cases = {
  doctor: async (world) => {
    await world.keys.command("Doctor");
    await report(world, "Sandbox Agent Doctor.txt", "Sandbox Agent");
  },
  showContext: async (world) => {
    await world.keys.command("Show What the Model Sees");
    await report(world, "Sandbox Agent Context.txt", "tokens");
  },
  showMcpServers: async (world) => {
    await world.keys.command("Show MCP Servers");
    await report(world, "Sandbox Agent MCP Servers.txt", "No MCP server");
  },
  showMenu: async (world) => {
    await world.keys.command("Show Menu");
    await world.keys.pick("Doctor");
    await report(world, "Sandbox Agent Doctor.txt", "Sandbox Agent");
  },
  setApiKey: async ({ keys, window }) => {
    for (const [key, told] of [
      ["sk-a-key", "The key is kept"],
      ["", "The key is forgotten"],
    ] as const) {
      await keys.command("Set API Key…");
      await keys.pick("DAYTONA_API_KEY");
      await keys.enter(key);
      await window.notification(told).waitFor();
      await keys.run("Notifications: Clear All Notifications");
    }
  },
  showLogs: async ({ keys, window }) => {
    await keys.command("Show Logs…");
    await keys.pick("Extension");
    await window.page.locator(".part.panel .output-view-container, .part.panel .monaco-editor").first().waitFor();
    await keys.run("View: Hide Panel");
  },
  openPort: async ({ keys, window }) => {
    await keys.command("Open Port…");
    await keys.enter("0");
    await window.quick.getByText("A port is a number from 1").waitFor();
    await keys.enter("8080");
    await window.notification("network").waitFor(); // no command of the session was allowed it
    await keys.run("Notifications: Clear All Notifications");
  },
  restartServer: async ({ keys, editor, window }) => {
    const [before] = editor.servers();
    assert.ok(before, "there is a server");
    await keys.command("Restart Server");
    await until("another server", () => editor.servers().some(({ pid }) => pid !== before.pid));
    await window.status(/Ready|Paused/).waitFor();
  },
  reportIssue: async (world) => {
    await world.keys.command("Report Issue…");
    await report(world, "Sandbox Agent Issue.txt", "Sandbox Agent"); // a browser has no issue reporter
  },
};
