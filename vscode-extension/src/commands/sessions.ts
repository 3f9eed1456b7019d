// The commands on sessions as a whole: find, rename, configure, pause, destroy.
import { commands, l10n, window } from "vscode";
import type { ApprovalMode, Session } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { folderName } from "../folders";
import { doingText, sentence } from "../model/text";
import { sayInfo } from "../say";
import { branches, description, icon, title, type Branch } from "../sessions/tree";
import { pickModel } from "./picks";
import { withProgress } from "./progress";
import { given, target } from "./target";

/** Shows a session in the conversation. */
export async function openSession(ctx: Ctx, argument?: unknown): Promise<void> {
  const { id } = await target(ctx, argument);
  await ctx.conversation.reveal(id);
}

/** Lets the user find a session by its title, state or backend. */
export async function showSessions(ctx: Ctx): Promise<void> {
  await commands.executeCommand("sandboxAgent.sessions.focus");
  await ctx.listing.refresh();
  const rows = rowsOf(branches(ctx.listing.sessions), 0);
  if (rows.length === 0) {
    sayInfo(l10n.t("There is no session yet; begin one with “Sandbox Agent: Ask…”."));
    return;
  }
  const options = { placeHolder: l10n.t("Session"), matchOnDescription: true, matchOnDetail: true };
  const picked = await window.showQuickPick(rows, options);
  if (picked) await ctx.conversation.reveal(picked.session.id);
}

function rowsOf(
  list: readonly Branch[],
  depth: number,
): { label: string; description: string; detail?: string; session: Session }[] {
  return list.flatMap(({ session, forks }) => {
    const indent = depth > 0 ? `${"\u2003".repeat(depth - 1)}└ ` : "";
    const row = {
      label: `${indent}$(${icon(session).id}) ${title(session)}`,
      description: description(session, Date.now(), folderName(session.workspaceFolder)),
      ...((session.away || session.state.reason) && { detail: doingText(session) }),
      session,
    };
    return [row, ...rowsOf(forks, depth + 1)];
  });
}

const longestTitle = 200; // characters; the server refuses more

/** What is wrong with a title, while it is still being written. */
export function titleProblem(text: string): string | undefined {
  const length = Array.from(text.trim()).length; // code points, as the server counts them
  return length > longestTitle
    ? l10n.t("A title has at most {0} characters; this one has {1}.", longestTitle, length)
    : undefined;
}

/** Gives a session a title that no generated one replaces. */
export async function renameSession(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  const prompt = l10n.t("Title of the session");
  const text =
    given(argument, "title") ??
    (await window.showInputBox({ prompt, value: session.title, validateInput: titleProblem }));
  if (!text?.trim()) return;
  await ctx.rpc.request("title", { requestId: crypto.randomUUID(), sessionId: session.id, title: text.trim() });
  void ctx.listing.refresh();
}

/** Lets the user change the model, the reasoning effort and the approval mode. */
export async function configureSession(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  const rows = [
    { label: `$(hubot) ${l10n.t("Model")}`, description: session.model, change: configureModel },
    {
      label: `$(lightbulb) ${l10n.t("Reasoning effort")}`,
      description: session.effort || l10n.t("the model's own"),
      change: configureEffort,
    },
    {
      label: `$(shield) ${l10n.t("Approval mode")}`,
      description: modeText(session.approvalMode),
      change: configureMode,
    },
  ];
  const picked = await window.showQuickPick(rows, { placeHolder: title(session) });
  await picked?.change(ctx, session);
}

async function configureModel(ctx: Ctx, session: Session): Promise<void> {
  const model = await pickModel(ctx, session.model);
  if (model) await configure(ctx, session.id, { model });
}

async function configureEffort(ctx: Ctx, session: Session): Promise<void> {
  const prompt = l10n.t("Reasoning effort, such as low, medium or high");
  const effort = await window.showInputBox({ prompt, value: session.effort ?? "" });
  if (effort?.trim()) await configure(ctx, session.id, { effort: effort.trim() });
}

/** The approval modes, the careful ones first. */
export const approvalModes: readonly ApprovalMode[] = ["readOnly", "ask", "auto", "never"];

function modeText(mode: ApprovalMode): string {
  return {
    readOnly: l10n.t("never writes, never asks"),
    ask: l10n.t("asks before anything that is not known to be read-only"),
    auto: l10n.t("runs what stays within the sandbox, asks for what leaves it"),
    never: l10n.t("never asks: runs everything"),
  }[mode];
}

async function configureMode(ctx: Ctx, session: Session): Promise<void> {
  const rows = approvalModes.map((mode) => ({
    label: mode,
    description: modeText(mode),
    mode,
    picked: mode === session.approvalMode,
  }));
  const picked = await window.showQuickPick(rows, {
    placeHolder: l10n.t("When shall the agent ask? Now: {0}", session.approvalMode),
  });
  if (picked) await setApprovalMode(ctx, session.id, picked.mode);
}

/** Sets the approval mode; that the agent is never to ask has to be confirmed. */
export async function setApprovalMode(ctx: Ctx, sessionId: string, approvalMode: ApprovalMode): Promise<void> {
  if (approvalMode === "never") {
    const yes = l10n.t("Never Ask");
    const detail = l10n.t("The agent then runs every command without asking.");
    if ((await window.showWarningMessage(l10n.t("Never ask in this session?"), { modal: true, detail }, yes)) !== yes)
      return;
  }
  await configure(ctx, sessionId, { approvalMode });
}

/** Changes settings of a session. */
export async function configure(
  ctx: Ctx,
  sessionId: string,
  change: { model?: string; effort?: string; approvalMode?: ApprovalMode },
): Promise<void> {
  await ctx.rpc.request("configure", { requestId: crypto.randomUUID(), sessionId, ...change });
}

/** Shortens what the model is told of the conversation. */
export async function compact(ctx: Ctx, argument?: unknown): Promise<void> {
  const { id } = await target(ctx, argument);
  await ctx.rpc.request("compact", { requestId: crypto.randomUUID(), sessionId: id });
  sayInfo(l10n.t("The conversation is shortened before the model's next call; its history stays."));
}

/** Keeps a session for later. */
export async function pause(ctx: Ctx, argument?: unknown): Promise<void> {
  const { id } = await target(ctx, argument);
  await ctx.rpc.request("pause", { requestId: crypto.randomUUID(), sessionId: id });
  void ctx.listing.refresh();
  sayInfo(l10n.t("The session is kept for later; ask to go on."));
}

/** Ends a session with its sandbox, if the user confirms it. */
export async function destroy(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  const yes = l10n.t("Destroy");
  const detail = l10n.t("Its processes end, and its sandbox and checkpoints are removed. Your folder stays as it is.");
  const question = l10n.t("Destroy “{0}”?", title(session));
  if ((await window.showWarningMessage(question, { modal: true, detail }, yes)) !== yes) return;
  const requestId = crypto.randomUUID();
  const { remains } = await withProgress(ctx, l10n.t("Destroying “{0}”…", title(session)), session.id, () =>
    ctx.rpc.request("destroy", { requestId, sessionId: session.id }),
  );
  ctx.sessions.forget(session.id);
  if (remains) sayInfo(sentence(remains));
  await ctx.listing.refresh();
}
