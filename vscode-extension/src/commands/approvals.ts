// The commands on approvals, and on what was allowed for always.
import { l10n, window } from "vscode";
import type { AnswerApprovalParams, Rule } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { folderUri, pickFolder } from "../folders";
import { oneLine, patchTool, questionText, sentence } from "../model/text";
import { sayInfo } from "../say";
import type { Pending } from "../sessions/waiting";
import { named } from "./target";

type Answer = Omit<AnswerApprovalParams, "requestId" | "sessionId" | "approvalId" | "decision">;

/** Answers an approval; the first answer wins, and who gave it is told. */
export async function answer(
  ctx: Ctx,
  pending: Pending,
  decision: AnswerApprovalParams["decision"],
  more: Answer = {},
): Promise<void> {
  const result = await ctx.rpc.request("answerApproval", {
    requestId: crypto.randomUUID(),
    sessionId: pending.sessionId,
    approvalId: pending.approval.id,
    decision,
    ...more,
  });
  if (!result.already) return;
  const by = result.decidedBy === "vscode" ? l10n.t("Another window") : result.decidedBy;
  sayInfo(l10n.t("{0} had answered already: {1}.", by, result.decision));
}

/** The approval that is meant: the one of the argument, else the only one, else one that the user chooses. */
async function pendingOf(ctx: Ctx, argument: unknown): Promise<Pending | undefined> {
  const given =
    typeof argument === "object" && argument !== null && "approval" in argument ? (argument as Pending) : undefined;
  if (given) return given;
  const id = named(argument);
  const all = ctx.waiting.all.filter((pending) => id === undefined || pending.sessionId === id);
  if (all.length === 0) sayInfo(l10n.t("Nothing waits for an answer."));
  if (all.length <= 1) return all[0];
  const rows = all.map((pending) => ({
    label: oneLine(pending.approval.subject),
    description: pending.approval.tool,
    detail: oneLine(pending.approval.reason),
    pending,
  }));
  return (await window.showQuickPick(rows, { placeHolder: l10n.t("Which one?"), matchOnDetail: true }))?.pending;
}

/** Shows the conversation in which an approval stands. */
export async function openApproval(ctx: Ctx, argument?: unknown): Promise<void> {
  const pending = await pendingOf(ctx, argument);
  if (pending) await ctx.conversation.reveal(pending.sessionId);
}

/** Allows a call once. From the palette, what would run is shown first; a change of files, by the conversation. */
export async function allowApproval(ctx: Ctx, argument?: unknown): Promise<void> {
  const pending = await pendingOf(ctx, argument);
  if (!pending) return;
  if (argument === undefined && !(await confirmed(ctx, pending))) return;
  await answer(ctx, pending, "allow");
}

async function confirmed(ctx: Ctx, { approval, sessionId }: Pending): Promise<boolean> {
  if (approval.tool === patchTool) await ctx.conversation.reveal(sessionId);
  const yes = l10n.t("Allow");
  const detail = `${approval.subject}\n\n${sentence(approval.reason)}`;
  return (await window.showInformationMessage(questionText(approval.tool), { modal: true, detail }, yes)) === yes;
}

/** Allows a call and what is like it: by a pattern that the user can change, here or in the whole workspace. */
export async function allowAlways(ctx: Ctx, argument?: unknown): Promise<void> {
  const pending = await pendingOf(ctx, argument);
  if (!pending) return;
  if (!pending.approval.options.includes("allowAlways")) {
    sayInfo(l10n.t("This cannot be allowed for always; allow it once."));
    return;
  }
  const prompt = l10n.t("What shall be allowed for always?");
  const pattern = await window.showInputBox({ prompt, value: pending.approval.pattern ?? "", ignoreFocusOut: true });
  if (!pattern?.trim()) return;
  const scopes = [
    { label: l10n.t("In this session"), scope: "session" as const },
    { label: l10n.t("In this workspace"), scope: "workspace" as const },
  ];
  const where = await window.showQuickPick(scopes, { placeHolder: l10n.t("Where shall “{0}” be allowed?", pattern) });
  if (where) await answer(ctx, pending, "allowAlways", { pattern: pattern.trim(), scope: where.scope });
}

/** Denies a call. */
export async function denyApproval(ctx: Ctx, argument?: unknown): Promise<void> {
  const pending = await pendingOf(ctx, argument);
  if (pending) await answer(ctx, pending, "deny");
}

/** Denies a call and tells the agent why. */
export async function denyWithFeedback(ctx: Ctx, argument?: unknown): Promise<void> {
  const pending = await pendingOf(ctx, argument);
  if (!pending) return;
  const feedback = await window.showInputBox({ prompt: l10n.t("Why not? The agent reads it."), ignoreFocusOut: true });
  if (feedback?.trim()) await answer(ctx, pending, "deny", { feedback: feedback.trim() });
}

/** Lists what was allowed for always, to take it back. */
export async function showRules(ctx: Ctx): Promise<void> {
  const sessionId = ctx.sessions.current;
  const folder = sessionId === undefined ? await pickFolder() : undefined;
  const about = sessionId !== undefined ? { sessionId } : { ...(folder && { workspaceFolder: folderUri(folder) }) };
  const { rules } = await ctx.rpc.request("rules", { ...about, op: "list" });
  if (rules.length === 0) {
    sayInfo(l10n.t("Nothing was allowed for always."));
    return;
  }
  const placeHolder = l10n.t("Allowed for always; choose what shall be asked for again");
  const picked = await window.showQuickPick(rules.map(ruleItem), { placeHolder, canPickMany: true });
  for (const { rule } of picked ?? []) {
    const requestId = crypto.randomUUID();
    await ctx.rpc.request("rules", { ...about, requestId, op: "remove", pattern: rule.pattern, scope: rule.scope });
  }
}

function ruleItem(rule: Rule): { label: string; description: string; rule: Rule } {
  const where = rule.scope === "session" ? l10n.t("in this session") : l10n.t("in this workspace");
  return {
    label: rule.pattern,
    description: [rule.tool, where, ...(rule.backend ? [rule.backend] : [])].join(" · "),
    rule,
  };
}
