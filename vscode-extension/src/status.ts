// The one item in the status bar: what the current session does, where, and whether something waits for an answer.
import { l10n, MarkdownString, StatusBarAlignment, ThemeColor, window, type Disposable } from "vscode";
import type { ServerState } from "./client/rpc";
import type { Ctx } from "./ctx";
import { busy, type SessionView } from "./model/session";
import { advice, backendText, doingText, doingWord, usageText } from "./model/text";
import { title } from "./sessions/tree";

/** What the item shows. */
export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly level?: "warning" | "error";
}

/** What the item shows of a session, of the server, and of approvals. */
export function statusOf(view: SessionView | undefined, server: ServerState, approvals: number): StatusText {
  const gone = serverText(server);
  if (gone) return gone;
  const waiting = approvals > 0 ? ` $(bell-dot) ${approvals}` : "";
  const level = approvals > 0 ? ({ level: "warning" } as const) : {};
  const asked = approvals > 0 ? [l10n.t("{0} waiting for your answer", approvals)] : [];
  if (!view?.session) {
    return {
      text: `$(comment-discussion)${waiting || " Agent"}`,
      tooltip: ["Sandbox Agent", ...asked].join("\n"),
      ...level,
    };
  }
  const { session, away } = view;
  const cost = away ? [] : [`${session.model} · ${usageText(session.usage)}`];
  return {
    text: `$(${iconOf(view, approvals)}) ${doingWord(view)} · ${backendText(session.backend.kind)}${waiting}`,
    tooltip: [title(session), doingText(view), ...cost, ...asked].join("\n"),
    ...(away ? ({ level: "warning" } as const) : level),
  };
}

function iconOf(view: SessionView, approvals: number): string {
  if (view.away) return "debug-disconnect";
  if (view.state.status === "failed") return "error";
  return busy(view) && approvals === 0 ? "sync~spin" : "comment-discussion";
}

function serverText(server: ServerState): StatusText | undefined {
  if (server.kind !== "waiting" && server.kind !== "failed") return undefined;
  const tooltip = advice(server.problem);
  return server.kind === "waiting"
    ? { text: `$(sync~spin) ${l10n.t("Agent restarts")}`, tooltip, level: "warning" }
    : { text: `$(error) ${l10n.t("No agent")}`, tooltip, level: "error" };
}

/** Shows the item. */
export function registerStatus(ctx: Ctx): Disposable[] {
  const item = window.createStatusBarItem("sandboxAgent.status", StatusBarAlignment.Left, 10);
  item.name = "Sandbox Agent";
  item.command = "sandboxAgent.showMenu";
  const update = (): void => {
    const { text, tooltip, level } = statusOf(ctx.sessions.currentView, ctx.rpc.state, ctx.waiting.all.length);
    item.text = text;
    item.tooltip = new MarkdownString().appendText(tooltip);
    item.accessibilityInformation = { label: `Sandbox Agent: ${tooltip}` };
    item.backgroundColor = level && new ThemeColor(`statusBarItem.${level}Background`);
  };
  update();
  item.show();
  return [
    item,
    ctx.rpc.onState(update),
    ctx.sessions.onDidChangeCurrent(update),
    ctx.waiting.onDidChange(update),
    ctx.sessions.onUpdate((event) => {
      if (event.kind !== "event" || event.message.event.type !== "item/delta") update();
    }),
  ];
}
