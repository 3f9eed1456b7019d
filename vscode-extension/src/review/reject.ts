// Taking back what the agent did: a hunk by an edit of the document, a file by a restore of its path. What the user has written
// since stays, in a document that is not saved too.
import { l10n, Position, Range, window, workspace, WorkspaceEdit, type TextDocument, type Uri } from "vscode";
import type { Session } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { codeBlock } from "../model/text";
import { sayInfo } from "../say";
import type { Change, Picture } from "./changes";
import { onDisk } from "./files";
import { takeBack, type Hunk } from "./hunks";

/** Takes a hunk back. Returns whether it was there to be taken back. */
export async function takeHunkBack(session: Session, change: Change, hunk: Hunk): Promise<boolean> {
  const uri = onDisk(session, change.file.path);
  if (!uri) return false; // elsewhere it is for the agent to do
  const document = await workspace.openTextDocument(uri);
  const dirty = document.isDirty;
  if (!(await editDocument(document, hunk))) return false;
  if (dirty) sayInfo(l10n.t("It is taken back in the unsaved text of {0}.", change.file.path));
  else await document.save();
  return true;
}

async function editDocument(document: TextDocument, hunk: Hunk): Promise<boolean> {
  const replacement = takeBack(document.getText(), hunk);
  if (!replacement) return false;
  const edit = new WorkspaceEdit();
  const range = new Range(document.positionAt(replacement.start), document.positionAt(replacement.end));
  edit.replace(document.uri, range, replacement.text, {
    needsConfirmation: false,
    label: l10n.t("Take back a change of the agent"),
  });
  return workspace.applyEdit(edit);
}

/** Brings a file back to what it was, and offers to undo that. Returns whether nothing of it stayed. */
export async function takeFileBack(ctx: Ctx, { session, base }: Picture, change: Change): Promise<boolean> {
  const { path, oldPath } = change.file;
  const paths = oldPath === undefined ? [path] : [path, oldPath];
  const result = await ctx.rpc.request("restore", {
    sessionId: session.id,
    checkpointId: base.id,
    paths,
    requestId: crypto.randomUUID(),
  });
  const stayed = [...result.conflicts, ...result.kept];
  if (stayed.length > 0) {
    const [first = path] = stayed;
    void window.showWarningMessage(
      l10n.t("{0} stays as it is: {1}", first, result.reasons?.[first] ?? l10n.t("it was changed since")),
    );
  }
  if (result.restored.length > 0) void offerUndo(ctx, session.id, path, result.undo, paths);
  return stayed.length === 0;
}

async function offerUndo(ctx: Ctx, sessionId: string, path: string, undo: string, paths: string[]): Promise<void> {
  const again = l10n.t("Undo");
  if ((await window.showInformationMessage(l10n.t("{0} is as it was before the change.", path), again)) !== again)
    return;
  await ctx.rpc.request("restore", { sessionId, checkpointId: undo, paths, requestId: crypto.randomUUID() });
}

/** Tells the agent that a change is not wanted, and why. */
export async function tellAgent(
  ctx: Ctx,
  session: Session,
  change: Change,
  hunk: Hunk | undefined,
  reason: string,
  taken: boolean,
): Promise<void> {
  const what = taken ? "I have taken this change back" : "Take this change back";
  const why = reason === "" ? "." : `: ${reason}`;
  const shown = hunk ? hunk.lines.join("\n") : (change.file.patch ?? "").slice(0, 8000);
  const block = shown === "" ? "" : `\n\n${codeBlock(shown, "diff")}`;
  const text = `${what} in ${change.file.path}${why}${block}`;
  await ctx.rpc.request("ask", { sessionId: session.id, text, requestId: crypto.randomUUID() });
}

/** Shows a line of a file in the active editor of it. */
export function lineRange(line: number): Range {
  const at = new Position(Math.max(0, line - 1), 0);
  return new Range(at, at);
}

/** Whether two URIs mean the same document. */
export function sameUri(a: Uri, b: Uri): boolean {
  return a.toString() === b.toString();
}
