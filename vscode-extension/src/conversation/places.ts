// Where links and names of files in the conversation lead, and where its code goes.
import { commands, env, FileType, l10n, Range, Uri, window, workspace } from "vscode";
import { posix } from "node:path";
import type { Session } from "../../../editors/protocol";
import { RpcError } from "../client/rpc";
import { asOf, onDisk } from "../review/files";

/** A file, and a line of it from 1; 0: none. */
export interface Place {
  readonly path: string;
  readonly line: number;
}

/** A link of a message as what it means: an address for the browser, or a file. */
export function placeOf(href: string): Place | { readonly address: string } | undefined {
  if (/^(https?|mailto):/i.test(href)) return { address: href };
  const [, bare = "", colon, hash] = /^(.*?)(?::(\d+)(?::\d+)?)?(?:#L?(\d+)(?:-L?\d+)?)?$/i.exec(decoded(href)) ?? [];
  const path = bare.replace(/^file:\/\/(localhost)?/i, "");
  if (path === "" || /^[a-z][a-z0-9+-]*:/i.test(path)) return undefined;
  return { path, line: Number(colon ?? hash ?? 0) };
}

function decoded(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href; // a percent sign that means itself
  }
}

/** A path as one below a folder; undefined when it leads out of it. */
export function below(folder: string, path: string): string | undefined {
  const full = posix.isAbsolute(path) ? posix.normalize(path) : posix.join(folder, path);
  const relative = posix.relative(folder, full);
  return relative === "" || relative === ".." || relative.startsWith("../") ? undefined : relative;
}

/** Opens what a link of a message names. */
export async function openLink(session: Session | undefined, href: string): Promise<void> {
  const place = placeOf(href);
  if (!place) throw new RpcError("invalidParams", l10n.t("The link {0} leads nowhere that is known.", href));
  if ("address" in place) await env.openExternal(Uri.parse(place.address, true));
  else if (session) await openFile(session, place);
}

/** Shows a file of a session's workspace: on the disk where it works in a folder of this host, else as its sandbox has it. */
export async function openFile(session: Session, { path, line }: Place): Promise<void> {
  const root = session.backend.workspaceRoot ?? Uri.parse(session.workspaceFolder).path;
  const relative = below(root, path);
  if (relative === undefined) {
    throw new RpcError("invalidParams", l10n.t("{0} is not a file of the session's workspace.", path));
  }
  const uri = onDisk(session, relative) ?? asOf(session, relative, undefined);
  const found = await typeOf(uri);
  if (found === "none") {
    throw new RpcError("notFound", l10n.t("There is no file {0} in the workspace, or no longer.", relative));
  }
  if (found === FileType.Directory) {
    await commands.executeCommand("revealInExplorer", uri);
    return;
  }
  const document = await workspace.openTextDocument(uri);
  const at = new Range(Math.max(0, line - 1), 0, Math.max(0, line - 1), 0);
  await window.showTextDocument(document, { preview: true, ...(line > 0 && { selection: at }) });
}

/** Puts text in the place of what is selected in the active editor, and brings the cursor there. */
export async function insertAtCursor(text: string): Promise<void> {
  const editor = window.activeTextEditor;
  const done = await editor?.edit((edit) => editor.selections.forEach((selection) => edit.replace(selection, text)));
  if (!editor || !done) {
    throw new RpcError(
      "invalidParams",
      l10n.t("There is no editor to insert it into."),
      l10n.t("Put the cursor into a file that can be changed."),
    );
  }
  await window.showTextDocument(editor.document, editor.viewColumn);
}

/** What there is on the disk; undefined when only opening it can tell. */
async function typeOf(uri: Uri): Promise<FileType | "none" | undefined> {
  if (uri.scheme !== "file") return undefined;
  try {
    return (await workspace.fs.stat(uri)).type;
  } catch (thrown) {
    return (thrown as { code?: unknown }).code === "FileNotFound" ? "none" : undefined;
  }
}
