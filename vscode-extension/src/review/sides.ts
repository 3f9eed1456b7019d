// Two versions of files side by side: what comes, and what is there, which can be edited where it is a file on the disk.
import { commands, l10n, workspace, type Uri } from "vscode";
import type { Session } from "../../../editors/protocol";
import { asOf, onDisk } from "./files";

/** A file of which there are two versions. */
export interface Pair {
  readonly path: string;
  readonly comes: Uri;
  readonly there: Uri;
}

/** A session's file as it is now: on the disk if it is there, so that it can be edited. */
export async function asItIs(session: Session, path: string): Promise<Uri> {
  const file = onDisk(session, path);
  if (!file) return asOf(session, path, undefined);
  try {
    await workspace.fs.stat(file);
    return file;
  } catch {
    return asOf(session, path, "none"); // it was removed there
  }
}

/** Shows both versions. What comes is on the left, so that its changes can be taken over to the right one by one. */
export async function showPairs(title: string, pairs: readonly Pair[]): Promise<void> {
  const [first, second] = pairs;
  if (!first) return;
  if (!second) {
    const name = l10n.t("{0} ({1})", first.path, title);
    await commands.executeCommand("vscode.diff", first.comes, first.there, name, { preview: true });
    return;
  }
  const resources = pairs.map(({ comes, there }) => [there, comes, there]);
  await commands.executeCommand("vscode.changes", title, resources);
}
