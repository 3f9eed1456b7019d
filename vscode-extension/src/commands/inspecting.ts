// The commands that look into a session and around it: what the model would see, the ports of the sandbox, the MCP servers.
import { env, l10n, Uri, window } from "vscode";
import type { MCPServer } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { contextReport } from "../model/contextreport";
import { oneLine } from "../model/text";
import { title } from "../sessions/tree";
import { withProgress } from "./progress";
import { showReport } from "./report";
import { given, target } from "./target";

const highestPort = 65_535;

/** Opens what a server in the session's sandbox shows, in the user's browser. */
export async function openPort(ctx: Ctx, argument?: unknown): Promise<void> {
  const { id } = await target(ctx, argument);
  const text = given(argument, "port") ?? (await askPort());
  if (text === undefined || portProblem(text)) return;
  const { url, headers } = await ctx.rpc.request("preview", { sessionId: id, port: Number(text) });
  if (!headers?.length) {
    await env.openExternal(Uri.parse(url, true));
    return;
  }
  // A browser cannot be told to send headers, so the address alone would be of no use.
  const lines = [
    url,
    "",
    l10n.t("Every request must carry:"),
    ...headers.map(({ name, value }) => `${name}: ${value}`),
  ];
  await showReport("Sandbox Agent Port.txt", lines.join("\n"));
}

function askPort(): Thenable<string | undefined> {
  return window.showInputBox({
    prompt: l10n.t("Port on which a server in the sandbox listens"),
    validateInput: portProblem,
  });
}

function portProblem(text: string): string | undefined {
  const port = Number(text);
  const valid = /^\d+$/.test(text) && port >= 1 && port <= highestPort;
  return valid ? undefined : l10n.t("A port is a number from 1 to {0}.", highestPort);
}

/** Shows what the model would be told if a question were asked now. */
export async function showContext(ctx: Ctx, argument?: unknown): Promise<void> {
  const { id, session } = await target(ctx, argument);
  const told = await ctx.rpc.request("context", { sessionId: id });
  await showReport("Sandbox Agent Context.txt", contextReport(title(session), told));
}

/** Shows the MCP servers that the user has configured, how they are, and their tools. Those that do not run are started for it. */
export async function showMcpServers(ctx: Ctx): Promise<void> {
  const { servers } = await withProgress(
    ctx,
    l10n.t("Asking the MCP servers…"),
    undefined,
    (token) => ctx.rpc.request("mcp", { start: true }, token),
    { cancellable: true },
  );
  const text = servers.length > 0 ? servers.map(serverText).join("\n\n") : l10n.t("No MCP server is configured.");
  await showReport("Sandbox Agent MCP Servers.txt", text);
}

function serverText({ name, state, reason, remedy, target: command, tools }: MCPServer): string {
  return [
    `${name}: ${state}${reason ? ` (${oneLine(reason)})` : ""}`,
    `    ${command}`,
    ...(remedy ? [`    → ${remedy}`] : []),
    ...tools.map((tool) => `    ${tool.name}${tool.description ? `: ${oneLine(tool.description)}` : ""}`),
  ].join("\n");
}
