import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { TextDocument } from "vscode";
import { documents } from "../../src/client/documents";
import { world } from "./vscode";

let sent: unknown[][];
const next = (document: TextDocument): Promise<void> => {
  sent.push(["didOpen", document.uri.toString(), document.getText()]);
  return Promise.resolve();
};

function document(text: string, isDirty = false): TextDocument {
  return {
    uri: { toString: () => "file:///w/a" },
    version: 7,
    isDirty,
    isClosed: false,
    getText: () => text,
  } as TextDocument;
}

function setup(): ReturnType<typeof documents> {
  return documents(() => ({
    sendNotification: (...words: unknown[]) => {
      sent.push(words);
      return Promise.resolve();
    },
    code2ProtocolConverter: { asUri: String },
  }));
}

beforeEach(() => {
  world.reset();
  sent = [];
});

describe("open documents", () => {
  it("are told as they are, and to be saved, when nothing is unsaved, even if the file has changed meanwhile", async () => {
    world.files.set("file:///w/a", "changed by git\n");
    await setup().didOpen?.(document("saved"), next);
    assert.deepEqual(sent, [
      ["didOpen", "file:///w/a", "saved"],
      ["textDocument/didSave", { textDocument: { uri: "file:///w/a" } }],
    ]);
  });

  it("with unsaved text are told as they are on disk, then changed, so that the server knows what is unsaved", async () => {
    world.files.set("file:///w/a", "on disk\n");
    await setup().didOpen?.(document("typed\n", true), next);
    assert.deepEqual(sent, [
      ["didOpen", "file:///w/a", "on disk\n"],
      [
        "textDocument/didChange",
        { textDocument: { uri: "file:///w/a", version: 7 }, contentChanges: [{ text: "typed\n" }] },
      ],
    ]);
  });

  it("that are read again from the disk are told to be saved, after they have changed", async () => {
    const parts = setup();
    const change = (isDirty: boolean) => ({ document: document("x", isDirty), contentChanges: [], reason: undefined });
    const changed = (): Promise<void> => {
      sent.push(["didChange"]);
      return Promise.resolve();
    };
    await parts.didOpen?.(document("saved"), next);
    sent = [];
    await parts.didChange?.(change(true), changed);
    assert.deepEqual(sent, [["didChange"]], "what is typed is not saved");
    await parts.didChange?.(change(false), changed);
    assert.deepEqual(sent.slice(1), [
      ["didChange"],
      ["textDocument/didSave", { textDocument: { uri: "file:///w/a" } }],
    ]);
  });

  it("that are too long for a message are left out until they are closed", async () => {
    const parts = setup();
    const long = document("x".repeat(300_001));
    let passed = 0;
    const pass = (): Promise<void> => {
      passed++;
      return Promise.resolve();
    };
    await parts.didOpen?.(long, next);
    await parts.didChange?.({ document: long, contentChanges: [], reason: undefined }, pass);
    await parts.didSave?.(long, pass);
    await parts.didClose?.(long, pass);
    assert.deepEqual([sent.length, passed], [0, 0]);
    await parts.didOpen?.(document("short"), next);
    await parts.didChange?.({ document: document("short", true), contentChanges: [], reason: undefined }, pass);
    await parts.didClose?.(document("short"), pass);
    assert.deepEqual([sent.length, passed], [2, 2]);
  });
});
