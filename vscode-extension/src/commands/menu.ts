// The menu of the status bar.
import { commands, l10n, window, type QuickPickItem } from "vscode";
import type { Ctx } from "../ctx";
import { runningCommands } from "../model/running";
import { busy } from "../model/session";
import { doingText } from "../model/text";
import { title } from "../sessions/tree";
import { separator } from "./picks";

interface Entry extends QuickPickItem {
  readonly command?: string;
}

/** Shows what can be done now. */
export async function showMenu(ctx: Ctx): Promise<void> {
  const picked = await window.showQuickPick(entries(ctx), { placeHolder: "Sandbox Agent" });
  if (picked?.command) await commands.executeCommand(picked.command);
}

function entry(icon: string, label: string, command: string, description?: string): Entry {
  const full = command.includes(".") ? command : `sandboxAgent.${command}`;
  return { label: `$(${icon}) ${label}`, command: full, ...(description && { description }) };
}

function entries(ctx: Ctx): Entry[] {
  const view = ctx.sessions.currentView;
  const waiting = ctx.waiting.all.length;
  const obstacle = ctx.obstacles.current;
  return [
    ...(obstacle?.action ? [entry("warning", obstacle.action.title, obstacle.action.command, obstacle.message)] : []),
    ...(waiting > 0 ? [entry("bell-dot", l10n.t("Answer what waits"), "openApproval", String(waiting))] : []),
    entry("comment", l10n.t("Ask…"), "ask"),
    entry("comment-discussion", l10n.t("Show the conversation"), "sandboxAgent.conversation.focus"),
    entry("list-tree", l10n.t("Find a session"), "showSessions"),
    entry("add", l10n.t("New session…"), "newSession"),
    ...(view?.session ? [separator(`${title(view.session)} · ${doingText(view)}`)] : []),
    ...(view && busy(view) ? [entry("debug-stop", l10n.t("Interrupt"), "interrupt")] : []),
    ...(view && runningCommands(view).length > 0
      ? [entry("debug-stop", l10n.t("Stop command…"), "stopCommand", l10n.t("The turn goes on."))]
      : []),
    ...(view?.session
      ? [
          entry("arrow-swap", l10n.t("Switch backend…"), "switchBackend"),
          entry("repo-forked", l10n.t("Fork…"), "forkSession"),
          entry("diff-multiple", l10n.t("Show diff"), "showDiff"),
          entry("history", l10n.t("Restore checkpoint…"), "restoreCheckpoint"),
          entry("settings", l10n.t("Model and approval mode…"), "configureSession"),
        ]
      : []),
    separator(""),
    entry("pulse", l10n.t("Doctor"), "doctor"),
    entry("output", l10n.t("Logs…"), "showLogs"),
  ];
}
