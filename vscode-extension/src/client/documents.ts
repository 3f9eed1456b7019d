// Tells the server of open documents such that it knows what of them is unsaved.
import { workspace, type TextDocument } from "vscode";
import type { LanguageClient, Middleware } from "vscode-languageclient/node";

/** A longer text would not fit into a message; the server then works with the file. In UTF-16 units. */
const longest = 300_000;

/** The part of the client that sends documents. */
type Sender = Pick<LanguageClient, "sendNotification"> & {
  readonly code2ProtocolConverter: Pick<LanguageClient["code2ProtocolConverter"], "asUri">;
};

/** Opens documents with what is saved of them, and leaves out those that are too long. */
export function documents(client: () => Sender): Pick<Middleware, "didOpen" | "didChange" | "didSave" | "didClose"> {
  const open = new Set<string>();
  const isOpen = (document: TextDocument): boolean => open.has(document.uri.toString());
  return {
    async didOpen(document, next) {
      if (document.getText().length > longest) return;
      open.add(document.uri.toString());
      await openDocument(client(), document, next);
    },
    async didChange(change, next) {
      if (!isOpen(change.document)) return;
      const saved = !change.document.isDirty; // read now: it tells of this change only until the next one
      await next(change);
      if (saved) await tellSaved(client(), change.document);
    },
    didSave: (document, next) => (isOpen(document) ? next(document) : Promise.resolve()),
    didClose: (document, next) => (open.delete(document.uri.toString()) ? next(document) : Promise.resolve()),
  };
}

/**
 * Opens a document. One with unsaved text is opened as it is on disk, and then changed; of any other it is said that it is saved,
 * for the server would take one that is not what the file holds for unsaved.
 */
async function openDocument(
  client: Sender,
  document: TextDocument,
  next: (document: TextDocument) => Promise<void>,
): Promise<void> {
  if (!document.isDirty) {
    await next(document);
    return tellSaved(client, document); // also where the file has just changed and the editor has not read it again yet
  }
  const saved = await onDisk(document);
  if (saved === undefined || document.isClosed) return next(document);
  await next(Object.create(document, { getText: { value: () => saved } }) as TextDocument);
  await client.sendNotification("textDocument/didChange", {
    textDocument: { uri: client.code2ProtocolConverter.asUri(document.uri), version: document.version },
    contentChanges: [{ text: document.getText() }],
  });
}

/**
 * A document that is not dirty shows what was saved, also when it was read again from the disk or its changes were undone, though
 * nothing is said of a save. The server finds that out by the file, but only here it is known in every encoding and at once.
 */
function tellSaved(client: Sender, document: TextDocument): Promise<void> {
  const uri = client.code2ProtocolConverter.asUri(document.uri);
  return client.sendNotification("textDocument/didSave", { textDocument: { uri } });
}

async function onDisk(document: TextDocument): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await workspace.fs.readFile(document.uri));
  } catch {
    return undefined; // it is not there any more: then all of it counts as new
  }
}
