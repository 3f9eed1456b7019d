// Which folder of the window is meant.
import { l10n, window, workspace, type Uri, type WorkspaceFolder } from "vscode";
import { RpcError } from "./client/rpc";

/** The folders that are on a disk; the agent works in no others. */
export function folders(): readonly WorkspaceFolder[] {
  return (workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
}

/** The folder of the active editor, else the only one, else the one that the user chooses; undefined when none is chosen. */
export async function pickFolder(): Promise<WorkspaceFolder | undefined> {
  const all = folders();
  const [first, second] = all;
  if (!first) throw noFolder();
  if (!second) return first;
  const active = activeFolder();
  if (active) return active;
  return window.showWorkspaceFolderPick({ placeHolder: l10n.t("Which folder shall the agent work in?") });
}

/** The folder of the active editor, if there is one. */
export function activeFolder(): WorkspaceFolder | undefined {
  const document = window.activeTextEditor?.document;
  return document?.uri.scheme === "file" ? workspace.getWorkspaceFolder(document.uri) : undefined;
}

/** A folder's URI as the server wants it: without a slash at the end. */
export function folderUri(folder: WorkspaceFolder | Uri): string {
  return ("uri" in folder ? folder.uri : folder).toString().replace(/(?<=[^/:])\/$/, "");
}

/** The name of the folder that a session works in, where it is not the only one that is open. */
export function folderName(workspaceFolder: string): string | undefined {
  const all = folders();
  if (all.length < 2) return undefined;
  return all.find((folder) => folderUri(folder) === workspaceFolder)?.name;
}

function noFolder(): RpcError {
  return new RpcError(
    "invalidParams",
    l10n.t("No folder is open."),
    l10n.t("Open the folder that the agent shall work in."),
  );
}
