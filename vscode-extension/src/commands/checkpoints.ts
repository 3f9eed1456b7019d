// The commands on checkpoints and changes.
import { l10n, window, type QuickPickItem } from "vscode";
import type { RestoreResult, Session } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { oneLine } from "../model/text";
import { distinct, type Row } from "../review/checkpoints";
import { asOf } from "../review/files";
import { asItIs, showPairs } from "../review/sides";
import { sayInfo, sayOffer } from "../say";
import { agoText, title } from "../sessions/tree";
import { names } from "./carrytext";
import { decide } from "./decide";
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
  const params = {
    requestId: crypto.randomUUID(),
    sessionId: session.id,
    ...(text.trim() && { summary: text.trim() }),
  };
  const result = await withProgress(ctx, l10n.t("Taking a checkpoint…"), session.id, () =>
    ctx.rpc.request("checkpoint", params),
  );
  const what = result.unchanged
    ? l10n.t("Nothing differs from the checkpoint before.")
    : l10n.t("{0} files are kept.", result.files);
  sayInfo(result.skippedAll > 0 ? `${what} ${l10n.t("{0} are not in it.", result.skippedAll)}` : what);
}

/** Brings the workspace back to a checkpoint, after it has shown what that changes. */
export async function restoreCheckpoint(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  const checkpoint = await chosen(ctx, session, given(argument, "checkpointId"));
  if (!checkpoint) return;
  const { id, name } = checkpoint;
  const preview = await withProgress(
    ctx,
    l10n.t("Looking what the checkpoint would change…"),
    session.id,
    (token) => ctx.rpc.request("restore", { sessionId: session.id, checkpointId: id, dryRun: true }, token),
    { cancellable: true },
  );
  if (preview.restored.length === 0) {
    tellRest(session, id, preview);
    return;
  }
  const yes = await decide({
    question: l10n.t("Restore the workspace of “{0}” to “{1}”?", title(session), name),
    detail: previewText(preview),
    ways: [{ label: l10n.t("Restore"), description: l10n.t("it can be undone"), value: true }],
    look: () => ctx.review.showDiff(session, id),
  });
  if (yes) await restoreTo(ctx, session, id);
}

/** The checkpoint of an id, else one that the user chooses. */
async function chosen(
  ctx: Ctx,
  session: Session,
  id: string | undefined,
): Promise<{ readonly id: string; readonly name: string } | undefined> {
  const listed = ctx.rpc
    .request("checkpoints", { sessionId: session.id })
    .then(({ checkpoints }) => distinct(checkpoints).reverse().map(checkpointItem));
  if (id !== undefined) return (await listed).find((one) => one.id === id) ?? { id, name: id };
  const placeHolder = l10n.t("Checkpoint to restore, the newest first");
  return window.showQuickPick(listed, { placeHolder, matchOnDescription: true, matchOnDetail: true });
}

function checkpointItem({ id, summary, also, turnId, at }: Row): QuickPickItem & { id: string; name: string } {
  const name = oneLine(summary) || l10n.t("Checkpoint");
  const turn = turnId ? [l10n.t("turn {0}", turnId)] : [];
  const description = [...turn, agoText(at, Date.now()), new Date(at).toLocaleString()].join(" · ");
  const detail = oneLine(also.join("; "));
  return { label: `$(history) ${name}`, description, ...(detail && { detail }), id, name };
}

/** What stays as it is, and why. */
function stays({ kept, conflicts, reasons }: RestoreResult): string[] {
  return [...conflicts, ...kept].map((path) => (reasons?.[path] ? `${path} (${reasons[path]})` : path));
}

function previewText(preview: RestoreResult): string {
  const files = preview.files.slice(0, mostListed).map(({ path, kind }) => `${path} (${kind})`);
  const more = preview.restored.length - files.length;
  const rest = stays(preview);
  return [
    [l10n.t("Becomes as it was:"), ...files, ...(more > 0 ? [l10n.t("and {0} more", more)] : [])].join("\n"),
    ...(rest.length > 0 ? [[l10n.t("Stays as it is:"), ...rest.slice(0, mostListed)].join("\n")] : []),
    l10n.t("It can be undone."),
  ].join("\n\n");
}

/** Tells why nothing is restored. */
function tellRest(session: Session, checkpointId: string, preview: RestoreResult): void {
  const [first, ...others] = stays(preview);
  if (first === undefined) {
    sayInfo(l10n.t("The workspace is as it was in that checkpoint."));
    return;
  }
  const more = others.length > 0 ? ` ${l10n.t("So do {0} more.", others.length)}` : "";
  sayOffer(`${l10n.t("Nothing is restored: {0} stays as it is.", first)}${more}`, {
    [l10n.t("Compare")]: () => compareRest(session, checkpointId, preview),
  });
}

/** Shows what stays beside what it was. */
async function compareRest(session: Session, checkpointId: string, { conflicts, kept }: RestoreResult): Promise<void> {
  const pairs = [...conflicts, ...kept].slice(0, mostListed).map(async (path) => ({
    path,
    comes: asOf(session, path, checkpointId, "optional"),
    there: await asItIs(session, path),
  }));
  await showPairs(l10n.t("checkpoint ↔ now"), await Promise.all(pairs));
}

/** Restores a checkpoint, tells what became of it, and offers to undo it. */
export async function restoreTo(ctx: Ctx, session: Session, checkpointId: string): Promise<void> {
  const requestId = crypto.randomUUID();
  const result = await withProgress(ctx, l10n.t("Restoring the workspace…"), session.id, () =>
    ctx.rpc.request("restore", { requestId, sessionId: session.id, checkpointId }),
  );
  const rest = stays(result);
  const done = l10n.t("Restored: {0}.", names(result.restored, result.restored.length));
  const { undo } = result;
  sayOffer(rest.length > 0 ? `${done} ${l10n.t("Stays as it is: {0}.", rest.slice(0, mostListed).join(", "))}` : done, {
    ...(rest.length > 0 && { [l10n.t("Compare")]: () => compareRest(session, checkpointId, result) }),
    ...(undo && { [l10n.t("Undo")]: () => restoreTo(ctx, session, undo) }),
  });
}
