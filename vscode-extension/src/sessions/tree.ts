// The tree of sessions as a pure function of their list: forks below what they were forked from.
import * as l10n from "@vscode/l10n";
import type { Session, Status } from "../../../editors/protocol";
import type { Away } from "../model/session";
import { backendText, doingWord, oneLine } from "../model/text";

/** A session of the list; of those that are attached it is known whether anything comes of them. */
export interface Listed extends Session {
  readonly away?: Away | undefined;
}

/** A session and its forks. */
export interface Branch {
  readonly session: Listed;
  readonly forks: readonly Branch[];
}

/** Nests forks, in the order of the list. A fork whose source is not in the list stands by itself. */
export function branches(sessions: readonly Listed[]): Branch[] {
  const known = new Set(sessions.map(({ id }) => id));
  const below = new Map<string, Listed[]>();
  for (const session of sessions) {
    const parent = session.parentId && known.has(session.parentId) ? session.parentId : "";
    below.set(parent, [...(below.get(parent) ?? []), session]);
  }
  const seen = new Set<string>(); // a circle cannot be, but must not hang the editor
  const grow = (parent: string): Branch[] =>
    (below.get(parent) ?? []).flatMap((session) => {
      if (seen.has(session.id)) return [];
      seen.add(session.id);
      return [{ session, forks: grow(session.id) }];
    });
  return grow("");
}

/** A title on one line; never empty, so that there is something to click. */
export function title(session: Pick<Session, "title">): string {
  return oneLine(session.title) || l10n.t("Untitled");
}

/** What stands beside the title: what it does, where, in which folder if that has to be said, and when it was used last. */
export function description(session: Listed, now: number, folder?: string): string {
  const { backend, updatedAt } = session;
  const place = backend.kind === "local" && folder ? [] : [backendText(backend.kind)];
  const parts = [doingWord(session), ...place, ...(folder ? [folder] : []), agoText(updatedAt, now)];
  if (session.forkedAtTurn) parts.unshift(l10n.t("from turn {0}", session.forkedAtTurn));
  return parts.join(" · ");
}

/** The name of the icon of what a session does, and of its colour. */
export function icon({ state, away }: Pick<Listed, "state" | "away">): { id: string; color?: string } {
  return away ? { id: "debug-disconnect", color: "list.warningForeground" } : iconOf(state.status);
}

function iconOf(status: Status): { id: string; color?: string } {
  switch (status) {
    case "running":
      return { id: "sync~spin", color: "charts.blue" };
    case "switching":
    case "recovering":
      return { id: "sync~spin", color: "charts.yellow" };
    case "waitingApproval":
      return { id: "bell-dot", color: "list.warningForeground" };
    case "failed":
      return { id: "error", color: "list.errorForeground" };
    case "paused":
      return { id: "debug-pause" };
    case "destroyed":
      return { id: "trash" };
    default:
      return { id: "comment" };
  }
}

/** What the menus of a session depend on. */
export function contextValue(session: Session): string {
  const busy = ["running", "waitingApproval", "switching", "recovering"].includes(session.state.status);
  return ["session", ...(session.parentId ? ["fork"] : []), ...(busy ? ["busy"] : [])].join(";");
}

/** How long ago something was: "now", "5 min", "3 h", "2 d". */
export function agoText(at: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(at)) / 60_000);
  if (!(minutes >= 1)) return l10n.t("now");
  if (minutes < 60) return l10n.t("{0} min ago", minutes);
  if (minutes < 24 * 60) return l10n.t("{0} h ago", Math.floor(minutes / 60));
  return l10n.t("{0} d ago", Math.floor(minutes / (24 * 60)));
}
