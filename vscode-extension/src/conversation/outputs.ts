// What an item has made, whole, as a document: read range by range when it is opened.
import { l10n, languages, Uri, window, workspace, type Disposable, type TextDocumentContentProvider } from "vscode";
import type { ReadOutputParams } from "../../../editors/protocol";
import { rpcError, type Rpc } from "../client/rpc";
import { decoded } from "../model/live";
import { settled } from "../model/terminal";

const scheme = "sandbox-agent-output";
const step = 192 * 1024; // bytes of one answer
const longest = 16 * 1024 * 1024; // bytes of one document

type Stream = ReadOutputParams["stream"];

/** A range of what an item's preview leaves out. */
export async function readRange(
  rpc: Rpc,
  sessionId: string,
  itemId: string,
  stream: Stream,
  offset: number,
): Promise<{ text: string; end: number; total: number }> {
  const part = await rpc.request("readOutput", { sessionId, itemId, stream, offset, limit: step });
  return { text: decoded(part), end: part.end, total: part.total };
}

/** All of a text of an item. */
export async function readAll(
  rpc: Rpc,
  sessionId: string,
  itemId: string,
  stream: Stream,
  most = longest,
): Promise<string> {
  let [text, end, total] = ["", 0, 1];
  while (end < total && end < most) {
    const part = await readRange(rpc, sessionId, itemId, stream, end);
    if (part.end <= end) break; // it has no more
    text += part.text;
    ({ end, total } = part);
  }
  return end < total ? `${text}\n${l10n.t("… the rest is not shown: it is too large.")}\n` : text;
}

export class Outputs implements TextDocumentContentProvider, Disposable {
  private readonly registration = workspace.registerTextDocumentContentProvider(scheme, this);

  constructor(private readonly rpc: Rpc) {}

  /** Shows all of what an item has made. */
  async show(sessionId: string, itemId: string, stream: Stream): Promise<void> {
    const uri = Uri.from({ scheme, path: `/${itemId} ${stream}`, query: sessionId });
    const document = await workspace.openTextDocument(uri);
    const language = { text: "markdown", diff: "diff", arguments: "json" }[stream as string];
    await window.showTextDocument(language ? await languages.setTextDocumentLanguage(document, language) : document, {
      preview: true,
    });
  }

  async provideTextDocumentContent({ path, query }: Uri): Promise<string> {
    const [itemId = "", stream] = path.slice(1).split(" ");
    try {
      const text = await readAll(this.rpc, query, itemId, stream as Stream);
      return stream === "stdout" || stream === "stderr" ? settled(text) : text;
    } catch (thrown) {
      return rpcError(thrown).advice;
    }
  }

  dispose(): void {
    this.registration.dispose();
  }
}
