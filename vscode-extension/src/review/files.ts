// Files of a session as documents: on the disk where the session works in a folder of this host, else, and as of a checkpoint,
// virtual ones that are read from the server.
import { EventEmitter, l10n, Uri, type Disposable, type TextDocumentContentProvider } from "vscode";
import type { FileDiff, Session } from "../../../editors/protocol";
import { rpcError, type Rpc } from "../client/rpc";
import type { Sessions } from "../sessions/sessions";

/** Scheme of the virtual documents. */
export const scheme = "sandbox-agent";

/** What one virtual document may have; more is neither read nor compared. */
const maxBytes = 8 << 20;

/** Where a file of a session is on this host's disk; undefined when the session works elsewhere. */
export function onDisk(session: Session, path: string): Uri | undefined {
  const { kind, workspaceRoot } = session.backend;
  if (kind !== "local") return undefined;
  const root = workspaceRoot ? Uri.file(workspaceRoot) : Uri.parse(session.workspaceFolder);
  return Uri.joinPath(root, path);
}

/**
 * A file as of a checkpoint; without one as it is now, and "none" is a file that is not there. Its path is that of the file on the
 * disk, if it is there: editors take two sides of different paths for a renamed file. An optional one is empty where it is not
 * in the checkpoint.
 */
export function asOf(session: Session, path: string, checkpoint: string | undefined, optional?: "optional"): Uri {
  const query = new URLSearchParams({
    session: session.id,
    file: path,
    ...(checkpoint && { checkpoint }),
    ...(optional && { optional }),
  });
  return Uri.from({ scheme, path: onDisk(session, path)?.path ?? `/${path}`, query: query.toString() });
}

/** The two sides of a changed file. */
export function bothSides(
  session: Session,
  file: FileDiff,
  from: string,
  to: string | undefined,
): { left: Uri; right: Uri } {
  const left = asOf(session, file.oldPath ?? file.path, file.kind === "added" ? "none" : from);
  if (file.kind === "removed") return { left, right: asOf(session, file.path, "none") };
  const now = to === undefined ? onDisk(session, file.path) : undefined;
  return { left, right: now ?? asOf(session, file.path, to) };
}

/** A changed file as the editor of many diffs takes it: what it is shown as, and the sides that there are. */
export function resourceOf(
  session: Session,
  file: FileDiff,
  from: string,
  to: string | undefined,
): [shown: Uri, left: Uri | undefined, right: Uri | undefined] {
  const { left, right } = bothSides(session, file, from, to);
  const shown = onDisk(session, file.path) ?? asOf(session, file.path, to);
  return [shown, file.kind === "added" ? undefined : left, file.kind === "removed" ? undefined : right];
}

/** Serves the virtual documents. */
export class Files implements TextDocumentContentProvider, Disposable {
  private readonly changes = new EventEmitter<Uri>();
  readonly onDidChange = this.changes.event;
  /** Documents that show a file as it is now, by session. */
  private readonly now = new Map<string, Map<string, Uri>>();
  private readonly listener: Disposable;

  constructor(
    private readonly rpc: Rpc,
    sessions: Pick<Sessions, "onUpdate">,
  ) {
    this.listener = sessions.onUpdate((update) => {
      if (
        update.kind === "event" &&
        ["turn/completed", "checkpoint/created", "backend/changed"].includes(update.message.event.type)
      )
        this.refresh(update.sessionId);
    });
  }

  /** Reads again what shows the files of a session as they are now. */
  refresh(session: string): void {
    for (const uri of this.now.get(session)?.values() ?? []) this.changes.fire(uri);
  }

  /** Called when a document is closed. */
  closed(uri: Uri): void {
    for (const documents of this.now.values()) documents.delete(uri.toString());
  }

  async provideTextDocumentContent(uri: Uri): Promise<string> {
    const query = new URLSearchParams(uri.query);
    const session = query.get("session") ?? "";
    const checkpoint = query.get("checkpoint") ?? undefined;
    if (checkpoint === "none") return "";
    if (checkpoint === undefined) this.remember(session, uri);
    try {
      return await this.read(session, query.get("file") ?? "", checkpoint);
    } catch (thrown) {
      const error = rpcError(thrown);
      const optional = checkpoint === undefined || query.has("optional"); // now it may have been removed since
      if (error.code === "notFound" && optional) return "";
      throw error;
    }
  }

  dispose(): void {
    this.listener.dispose();
    this.changes.dispose();
  }

  private remember(session: string, uri: Uri): void {
    const documents = this.now.get(session) ?? new Map<string, Uri>();
    this.now.set(session, documents.set(uri.toString(), uri));
  }

  private async read(sessionId: string, path: string, checkpointId: string | undefined): Promise<string> {
    const parts: Buffer[] = [];
    for (let offset = 0; ;) {
      const part = await this.rpc.request("readFile", {
        sessionId,
        path,
        offset,
        ...(checkpointId && { checkpointId }),
      });
      if (part.total > maxBytes) throw new Error(l10n.t("The file is too large to be shown here."));
      parts.push(Buffer.from(part.data, part.encoding === "base64" ? "base64" : "utf8"));
      if (part.end >= part.total || part.end <= offset) break;
      offset = part.end;
    }
    return new TextDecoder().decode(Buffer.concat(parts)); // without a byte order mark, as an editor shows the file
  }
}
