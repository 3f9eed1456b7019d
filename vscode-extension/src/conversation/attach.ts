// What of the editor goes along with a question, where its text mentions it; and what can be mentioned. How a mention is
// written is the server's affair, and so is reading the files.
import {
  DiagnosticSeverity,
  l10n,
  languages,
  RelativePattern,
  Uri,
  window,
  workspace,
  type Diagnostic,
  type TextEditor,
} from "vscode";
import type { Context, Session } from "../../../editors/protocol";
import { activeFolder, folders } from "../folders";
import type { Mention } from "./messages";

const longestSelection = 100_000; // UTF-16 units
const mostProblems = 200;
const mostFiles = 50;

/** The contexts of a question. */
export function contextsFor(text: string): Context[] {
  const out: Context[] = [];
  const editor = window.activeTextEditor ?? window.visibleTextEditors[0];
  if (/(^|\W)@selection\b/.test(text) && editor) out.push(...selectionOf(editor));
  if (/(^|\W)@diagnostics\b/.test(text)) out.push(...problemsOf());
  return out;
}

function selectionOf({ document, selection }: TextEditor): Context[] {
  if (selection.isEmpty || document.uri.scheme !== "file") return [];
  const range = { start: position(selection.start), end: position(selection.end) };
  const text = document.getText(selection).slice(0, longestSelection);
  return [{ kind: "selection", uri: document.uri.toString(), range, text }];
}

function position({ line, character }: { line: number; character: number }): { line: number; character: number } {
  return { line, character };
}

/** The problems of the folder's files, a line each. */
function problemsOf(): Context[] {
  let room = mostProblems;
  return languages.getDiagnostics().flatMap(([uri, problems]): Context[] => {
    const shown = problems.filter(({ severity }) => severity <= DiagnosticSeverity.Warning).slice(0, room); // errors and warnings
    if (uri.scheme !== "file" || !workspace.getWorkspaceFolder(uri) || shown.length === 0) return [];
    room -= shown.length;
    return [{ kind: "diagnostics", uri: uri.toString(), text: shown.map(problemText).join("\n") }];
  });
}

function problemText({ range, severity, message, source }: Diagnostic): string {
  const where = `${range.start.line + 1}:${range.start.character + 1}`;
  return `${where}: ${severity === DiagnosticSeverity.Error ? "error" : "warning"}: ${message.replace(/\s*\n\s*/g, " ")}${source ? ` (${source})` : ""}`;
}

/** What a user who has written "@" and query may mean. */
export async function mentionsFor(query: string, session: Session | undefined): Promise<Mention[]> {
  const special = [
    { text: "selection", label: "@selection", detail: l10n.t("What is selected in the editor") },
    { text: "diagnostics", label: "@diagnostics", detail: l10n.t("Errors and warnings of the folder") },
  ].filter(({ text }) => text.startsWith(query));
  const folder = folderOf(session);
  const files = folder ? await filesLike(query.replace(/^"/, ""), folder) : [];
  return [...special, ...files.map(fileMention)];
}

/** A path as a mention; one with spaces is quoted. */
export function fileMention(path: string): Mention {
  return { text: /\s/.test(path) ? `"${path}"` : path, label: path };
}

function folderOf(session: Session | undefined): Uri | undefined {
  return session ? Uri.parse(session.workspaceFolder) : (activeFolder() ?? folders()[0])?.uri;
}

async function filesLike(query: string, folder: Uri): Promise<string[]> {
  const found =
    query === ""
      ? window.tabGroups.all.flatMap((group) => group.tabs.flatMap(({ input }) => uriOf(input)))
      : await workspace.findFiles(
          new RelativePattern(folder, globFor(query)),
          "**/{node_modules,.git}/**",
          4 * mostFiles,
        );
  const root = `${folder.path.replace(/\/$/, "")}/`;
  const paths = found
    .filter(({ scheme, path }) => scheme === "file" && path.startsWith(root))
    .map(({ path }) => path.slice(root.length));
  return ranked([...new Set(paths)], query).slice(0, mostFiles);
}

function uriOf(input: unknown): Uri[] {
  const uri = typeof input === "object" && input !== null ? (input as { uri?: unknown }).uri : undefined;
  return uri instanceof Uri ? [uri] : [];
}

/** Paths with the query in them, in either case. */
export function globFor(query: string): string {
  const letters = Array.from(query, (c) => {
    const [low, high] = [c.toLowerCase(), c.toUpperCase()];
    if (low !== high) return `[${low}${high}]`;
    return "*?[]{}!,".includes(c) ? "?" : c;
  });
  return `**/*${letters.join("")}*`;
}

/** The best first: those whose name begins with the query, then short paths. */
export function ranked(paths: readonly string[], query: string): string[] {
  const low = query.toLowerCase();
  const rank = (path: string): number =>
    path
      .slice(path.lastIndexOf("/") + 1)
      .toLowerCase()
      .startsWith(low)
      ? 0
      : 1;
  return [...paths].sort((a, b) => rank(a) - rank(b) || a.length - b.length || a.localeCompare(b));
}
