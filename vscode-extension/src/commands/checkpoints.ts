// The commands on checkpoints and changes.
import { l10n, window } from "vscode";
import type { Checkpoint, RestoreResult, Session } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { oneLine } from "../model/text";
import { sayError, sayInfo } from "../say";
import { agoText, title } from "../sessions/tree";
import { withProgress } from "./progress";
import { given, target } from "./target";

const mostListed = 10;

/** Shows what the session has changed. */
export async function showDiff(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  await ctx.review.showDiff(session, given(argument, "from"), given(argument, "to"));
}

/** Takes a checkpoint of the workspace as it is now. */
export async function takeCheckpoint(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  const prompt = l10n.t("What is it for? May be empty.");
  const text = given(argument, "summary") ?? (await window.showInputBox({ prompt }));
  if (text === undefined) return;
  const requestId = crypto.randomUUID();
  const result = await withProgress(ctx, l10n.t("Taking a checkpoint…"), session.id, () =>
    ctx.rpc.request("checkpoint", { requestId, sessionId: session.id, ...(text.trim() && { summary: text.trim() }) }),
  );
  const what = result.unchanged
    ? l10n.t("Nothing differs from the checkpoint before.")
    : l10n.t("{0} files are kept.", result.files);
  sayInfo(result.skippedAll > 0 ? `${what} ${l10n.t("{0} are not in it.", result.skippedAll)}` : what);
}

/** Brings the workspace back to a checkpoint, after it has shown what that changes. */
export async function restoreCheckpoint(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  const id = given(argument, "checkpointId") ?? (await pickCheckpoint(ctx, session));
  if (id === undefined) return;
  const preview = await withProgress(ctx, l10n.t("Looking what the checkpoint would change…"), session.id, () =>
    ctx.rpc.request("restore", { sessionId: session.id, checkpointId: id, dryRun: true }),
  );
  if (preview.restored.length === 0) {
    sayInfo(l10n.t("The workspace is as it was in that checkpoint."));
    return;
  }
  const yes = l10n.t("Restore");
  const question = l10n.t("Restore the workspace of “{0}”?", title(session));
  const picked = await window.showWarningMessage(question, { modal: true, detail: previewText(preview) }, yes);
  if (picked === yes) await restoreTo(ctx, session, id);
}

async function pickCheckpoint(ctx: Ctx, session: Session): Promise<string | undefined> {
  const listed = ctx.rpc
    .request("checkpoints", { sessionId: session.id })
    .then(({ checkpoints }) => checkpoints.map(checkpointItem).reverse());
  const picked = await window.showQuickPick(listed, {
    placeHolder: l10n.t("Checkpoint to restore"),
    matchOnDescription: true,
  });
  return picked?.checkpoint.id;
}

function checkpointItem(checkpoint: Checkpoint): { label: string; description: string; checkpoint: Checkpoint } {
  const short = checkpoint.id.slice(0, 12);
  const parts = [
    agoText(checkpoint.at, Date.now()),
    ...(checkpoint.turnId ? [l10n.t("turn {0}", checkpoint.turnId)] : []),
    short,
  ];
  return { label: oneLine(checkpoint.summary) || short, description: parts.join(" · "), checkpoint };
}

function previewText(preview: RestoreResult): string {
  const files = preview.files.slice(0, mostListed).map(({ path, kind }) => `${path} (${kind})`);
  const more = preview.restored.length - files.length;
  const stays = [...preview.kept, ...preview.conflicts];
  return [
    [l10n.t("Becomes as it was:"), ...files, ...(more > 0 ? [l10n.t("and {0} more", more)] : [])].join("\n"),
    ...(stays.length > 0
      ? [[l10n.t("Stays, since somebody else has changed it:"), ...stays.slice(0, mostListed)].join("\n")]
      : []),
    l10n.t("It can be undone."),
  ].join("\n\n");
}

/** Restores a checkpoint, tells what became of it, and offers to undo it. */
export async function restoreTo(ctx: Ctx, session: Session, checkpointId: string): Promise<void> {
  const requestId = crypto.randomUUID();
  const result = await withProgress(ctx, l10n.t("Restoring the workspace…"), session.id, () =>
    ctx.rpc.request("restore", { requestId, sessionId: session.id, checkpointId }),
  );
  const stays = result.kept.length + result.conflicts.length;
  const done = l10n.t("{0} restored.", result.restored.length);
  const text = stays > 0 ? `${done} ${l10n.t("{0} stay as they are.", stays)}` : done;
  const undo = l10n.t("Undo");
  window
    .showInformationMessage(text, ...(result.undo ? [undo] : []))
    .then((picked) => (picked === undo ? restoreTo(ctx, session, result.undo) : undefined))
    .then(undefined, sayError);
}
