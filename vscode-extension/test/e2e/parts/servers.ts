// What stands in the user's own configuration: MCP servers, one of which is broken, and a network for containers.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { required } from "../harness/environment.ts";
import { picture, type It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

const server = (name: string, kind: string): string =>
  `[mcp.${name}]\ncommand = ${JSON.stringify(required("MCP_SERVER"))}\nenv = { MCPTEST_SERVER = "${kind}" }\n`;

export function servers(it: It): void {
  it("Show MCP Servers: how each is, why one is not, and the tools of the others", async ({ window, at }) => {
    const folder = join(at.home, "config/sandbox-agent");
    mkdirSync(folder, { recursive: true });
    const text = `[docker]\nnetwork = "bridge"\n\n${server("notes", "sdk")}\n${server("broken", "broken")}`;
    writeFileSync(join(folder, "config.toml"), text); // before the worker starts, which reads it then
    await window.showViews();
    await window.trust();
    await window.command("Show MCP Servers");
    const lines = window.page.locator(".monaco-editor .view-lines").first();
    const shown = async (): Promise<string> => (await lines.innerText()).replaceAll("\u00a0", " ");
    await until("the tools of the one", async () => /notes: ready[^]*echo/.test(await shown()));
    await until("why the other is not there", async () => /broken: failed \(.*ended/.test(await shown()));
    await picture(window, "mcp-servers");
    await window.run("View: Close All Editors");
  });
}
