// Tells the server of open documents such that it knows what of them is unsaved.
import { workspace, type TextDocument } from "vscode";
import type { LanguageClient, Middleware } from "vscode-languageclient/node";

/** A longer text would not fit into a message; the server then works with the file. In UTF-16 units. */
const longest = 300_000;

/** The part of the client that sends documents. */
type Sender = Pick<LanguageClient, "sendNotification"> & {
  readonly code2ProtocolConverter: Pick<LanguageClient["code2ProtocolConverter"], "asUri">;
};

/**
 * How long a document that is not dirty has to stay so before it counts as saved, in milliseconds: VS Code tells of a change first,
 * and then that the document has become dirty by it, as it does of what it shows from its backups.
 */
export const settleTime = 500;

/** Opens documents with what is saved of them, and leaves out those that are too long. */
export function documents(client: () => Sender): Pick<Middleware, "didOpen" | "didChange" | "didSave" | "didClose"> {
  const open = new Map<string, Saved>();
  const entry = (document: TextDocument): Saved | undefined => open.get(document.uri.toString());
  return {
    async didOpen(document, next) {
      if (document.getText().length > longest) return;
      const saved = new Saved(client, document);
      open.set(document.uri.toString(), saved);
      await openDocument(client(), document, next);
      saved.settle();
    },
    async didChange(change, next) {
      const saved = entry(change.document);
      if (!saved) return;
      const sent = next(change);
      saved.settle();
      await sent;
    },
    didSave: (document, next) => (entry(document) ? next(document) : Promise.resolve()),
    didClose(document, next) {
      const saved = entry(document);
      if (!saved) return Promise.resolve();
      saved.end();
      open.delete(document.uri.toString());
      return next(document);
    },
  };
}

/**
 * Tells that a document is saved. One that is not dirty shows what was saved, also when it was read again from the disk or its
 * changes were undone, though nothing is said of a save. The server finds that out by the file, but only here it is known in every
 * encoding, and where the file has just changed and the editor has not read it again yet.
 */
class Saved {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: () => Sender,
    private readonly document: TextDocument,
  ) {}

  /** Begins to wait, anew. */
  settle(): void {
    this.end();
    if (this.document.isDirty) return;
    this.timer = setTimeout(() => setImmediate(() => this.tell()), settleTime); // after what has come meanwhile was read
  }

  end(): void {
    clearTimeout(this.timer);
  }

  private tell(): void {
    if (this.document.isDirty || this.document.isClosed) return;
    const client = this.client();
    const uri = client.code2ProtocolConverter.asUri(this.document.uri);
    // A server that is gone needs to know nothing; the next one gets all documents anew.
    client.sendNotification("textDocument/didSave", { textDocument: { uri } }).catch(() => undefined);
  }
}

/** Opens a document. One with unsaved text is opened as it is on disk, and then changed. */
async function openDocument(
  client: Sender,
  document: TextDocument,
  next: (document: TextDocument) => Promise<void>,
): Promise<void> {
  if (!document.isDirty) return next(document);
  const saved = await onDisk(document);
  if (saved === undefined || document.isClosed) return next(document);
  await next(Object.create(document, { getText: { value: () => saved } }) as TextDocument);
  await client.sendNotification("textDocument/didChange", {
    textDocument: { uri: client.code2ProtocolConverter.asUri(document.uri), version: document.version },
    contentChanges: [{ text: document.getText() }],
  });
}

async function onDisk(document: TextDocument): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await workspace.fs.readFile(document.uri));
  } catch {
    return undefined; // it is not there any more: then all of it counts as new
  }
}
