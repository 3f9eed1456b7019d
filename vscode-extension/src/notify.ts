// Notifications: only when an answer is needed, or a turn has ended if the user wants to hear of that, and nobody looks.
import { l10n, window, type Disposable } from "vscode";
import { config } from "./config";
import type { Ctx } from "./ctx";
import { answer } from "./commands/approvals";
import { oneLine, patchTool } from "./model/text";
import { sayError } from "./say";
import { title } from "./sessions/tree";
import type { Pending } from "./sessions/waiting";

const longestSubject = 200; // characters of a notification

/** Whether the conversation of a session is before the user. */
function seen(ctx: Ctx, sessionId: string): boolean {
  return ctx.conversation.visible && window.state.focused && ctx.sessions.current === sessionId;
}

function titleOf(ctx: Ctx, sessionId: string): string {
  const session = ctx.sessions.get(sessionId)?.session;
  return session ? title(session) : "";
}

async function askFor(ctx: Ctx, pending: Pending): Promise<void> {
  if (seen(ctx, pending.sessionId) || config.notifications() === "off") return;
  const { approval, sessionId } = pending;
  const subject = oneLine(approval.subject).slice(0, longestSubject);
  const [open, allow, deny] = [l10n.t("Open"), l10n.t("Allow"), l10n.t("Deny")];
  const text = l10n.t("“{0}” waits for your answer: {1}", titleOf(ctx, sessionId), subject || approval.tool);
  // What does not fit here, as a change of files, is to be read before it is allowed.
  const fits = oneLine(approval.subject).length <= longestSubject && !approval.subject.includes("\n");
  const whole = fits && approval.tool !== patchTool;
  const picked = await window.showInformationMessage(text, ...(whole ? [open, allow, deny] : [open, deny]));
  if (picked === open) await ctx.conversation.reveal(sessionId);
  if (picked === allow) await answer(ctx, pending, "allow");
  if (picked === deny) await answer(ctx, pending, "deny");
}

/** Tells of what waits for an answer while nobody looks. */
export function registerNotifications(ctx: Ctx): Disposable[] {
  return [
    ctx.waiting.onRequested((pending) => {
      askFor(ctx, pending).catch(sayError);
    }),
    ctx.sessions.onUpdate((update) => {
      if (update.kind !== "event" || update.message.event.type !== "turn/completed") return;
      if (config.notifications() !== "approvalsAndTurns" || seen(ctx, update.sessionId)) return;
      void turnEnded(ctx, update.sessionId, update.message.event.status);
    }),
  ];
}

async function turnEnded(ctx: Ctx, sessionId: string, status: string): Promise<void> {
  const name = titleOf(ctx, sessionId);
  const texts: Record<string, string> = {
    completed: l10n.t("“{0}” has finished its turn.", name),
    interrupted: l10n.t("The turn of “{0}” was interrupted.", name),
  };
  const open = l10n.t("Open");
  const picked = await window.showInformationMessage(
    texts[status] ?? l10n.t("The turn of “{0}” has failed.", name),
    open,
  );
  if (picked === open) await ctx.conversation.reveal(sessionId);
}
