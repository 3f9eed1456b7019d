// The commands on the installation: what is wrong, keys, logs, a report.
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { commands, l10n, Uri, version, window, workspace } from "vscode";
import { protocolVersion, type Check } from "../../../editors/protocol";
import { rpcError } from "../client/rpc";
import type { Ctx } from "../ctx";
import { sayInfo } from "../say";
import { secretNames, type SecretName } from "../secrets";
import { withProgress } from "./progress";
import { showReport } from "./report";
import { given } from "./target";

/** Checks the installation and shows what was found. */
export async function doctor(ctx: Ctx): Promise<void> {
  const title = l10n.t("Checking the installation…");
  const text = await withProgress(ctx, title, undefined, (token) => diagnosis(ctx, token), { cancellable: true });
  await showReport("Sandbox Agent Doctor.txt", text);
}

/** What the server finds, or why there is none. */
async function diagnosis(ctx: Ctx, token?: Parameters<Ctx["rpc"]["request"]>[2]): Promise<string> {
  const heading = `Sandbox Agent: extension ${extensionVersion(ctx)} · protocol ${protocolVersion} · VS Code ${version} · ${process.platform}-${process.arch}\n`;
  try {
    const { checks } = await ctx.rpc.request("doctor", {}, token);
    return [heading, ...checks.map(checkText)].join("\n");
  } catch (thrown) {
    const { message, remedy } = rpcError(thrown);
    return [heading, checkText({ name: "server", status: "error", detail: message, ...(remedy && { remedy }) })].join(
      "\n",
    );
  }
}

function checkText({ name, status, detail, remedy }: Check): string {
  const sign = { ok: "✓", warning: "!", error: "✗" }[status];
  return `${sign} ${name}: ${detail}${remedy ? `\n    → ${remedy}` : ""}`;
}

function extensionVersion(ctx: Ctx): string {
  return String((ctx.extension.extension.packageJSON as { version?: unknown }).version);
}

/** Takes a key and gives it to the worker. What is typed is not shown. */
export async function setApiKey(ctx: Ctx, argument?: unknown): Promise<void> {
  const name = secretNames.find((one) => one === given(argument, "name")) ?? (await pickSecret(ctx));
  if (!name) return;
  const prompt = l10n.t("{0}; empty: forget it", name);
  const value = await window.showInputBox({ prompt, password: true, ignoreFocusOut: true });
  if (value === undefined) return;
  await ctx.secrets.set(name, value.trim());
  await ctx.obstacles.refresh();
  await commands.executeCommand("setContext", "sandboxAgent.keySet", value.trim() !== "");
  sayInfo(
    value.trim() === ""
      ? l10n.t("The key is forgotten.")
      : l10n.t("The key is kept in the secret storage; the worker has it in its memory."),
  );
}

async function pickSecret(ctx: Ctx): Promise<SecretName | undefined> {
  const uses: Record<SecretName, string> = {
    OPENAI_API_KEY: l10n.t("for models"),
    E2B_API_KEY: l10n.t("for sandboxes of E2B"),
    DAYTONA_API_KEY: l10n.t("for sandboxes of Daytona"),
  };
  const rows = secretNames.map(async (name) => {
    const kept = (await ctx.secrets.has(name)) ? [l10n.t("is set")] : [];
    return { label: name, description: [uses[name], ...kept].join(" · "), name };
  });
  return (await window.showQuickPick(Promise.all(rows), { placeHolder: l10n.t("Which key?") }))?.name;
}

/** Shows the log of the extension, or one that the programs write. */
export async function showLogs(ctx: Ctx): Promise<void> {
  const folder = join(process.env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "sandbox-agent", "log");
  const files = (await readdir(folder).catch(() => [] as string[])).filter((file) => !file.startsWith(".")).sort();
  const own = { label: `$(output) ${l10n.t("Extension")}`, description: "", path: undefined as string | undefined };
  const rows = [
    own,
    ...files.map((file) => ({ label: `$(file) ${file}`, description: folder, path: join(folder, file) })),
  ];
  const picked = await window.showQuickPick(rows, { placeHolder: l10n.t("Log") });
  if (!picked) return;
  if (picked.path === undefined) ctx.log.show();
  else await window.showTextDocument(await workspace.openTextDocument(Uri.file(picked.path)), { preview: true });
}

/** Ends the server and starts it anew; sessions and turns go on meanwhile. */
export async function restartServer(ctx: Ctx): Promise<void> {
  await ctx.server.restart();
  await ctx.server.start();
}

/** Opens the issue reporter with what the doctor finds; the user sees and sends it. Where VS Code has none, as in a browser, it is shown. */
export async function reportIssue(ctx: Ctx): Promise<void> {
  const issueBody = await diagnosis(ctx);
  try {
    await commands.executeCommand("workbench.action.openIssueReporter", {
      extensionId: ctx.extension.extension.id,
      issueBody,
    });
  } catch (thrown) {
    ctx.log.warn(`the issue reporter: ${String(thrown)}`);
    await showReport("Sandbox Agent Issue.txt", issueBody);
  }
}
