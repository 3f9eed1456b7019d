// Texts that are shown in an editor and belong to no file.
import { EventEmitter, Uri, window, workspace, type Disposable } from "vscode";

const scheme = "sandbox-agent-report";
const texts = new Map<string, string>();
const changes = new EventEmitter<Uri>();

/** Shows a text; an editor that shows the one before of that name shows this one then. */
export async function showReport(name: string, text: string): Promise<void> {
  const uri = Uri.from({ scheme, path: `/${name}` });
  texts.set(uri.path, text);
  changes.fire(uri);
  await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true });
}

/** Makes such texts readable for VS Code. */
export function registerReports(): Disposable {
  return workspace.registerTextDocumentContentProvider(scheme, {
    onDidChange: changes.event,
    provideTextDocumentContent: (uri) => texts.get(uri.path) ?? "",
  });
}
