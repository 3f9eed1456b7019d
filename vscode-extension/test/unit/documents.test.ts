import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import type { TextDocument } from "vscode";
import { documents, settleTime } from "../../src/client/documents";
import { settled } from "./rpc";
import { world } from "./vscode";

let sent: unknown[][];
const next = (document: TextDocument): Promise<void> => {
  sent.push(["didOpen", document.uri.toString(), document.getText()]);
  return Promise.resolve();
};

const told = ["textDocument/didSave", { textDocument: { uri: "file:///w/a" } }];

function document(text: string, isDirty = false): { -readonly [key in keyof TextDocument]: TextDocument[key] } {
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
  mock.timers.enable({ apis: ["setTimeout"] });
});

afterEach(() => mock.timers.reset());

/** Lets time pass until what rests counts as saved. */
async function settle(): Promise<void> {
  mock.timers.tick(settleTime);
  await settled();
}

describe("open documents", () => {
  it("are told as they are, and to be saved, when nothing is unsaved, even if the file has changed meanwhile", async () => {
    world.files.set("file:///w/a", "changed by git\n");
    await setup().didOpen?.(document("saved"), next);
    assert.deepEqual(sent, [["didOpen", "file:///w/a", "saved"]]);
    await settle();
    assert.deepEqual(sent.slice(1), [told]);
  });

  it("from a backup are not told to be saved, though VS Code tells only afterwards that they are not", async () => {
    const backup = document("typed yesterday");
    await setup().didOpen?.(backup, next);
    backup.isDirty = true;
    await settle();
    assert.equal(sent.length, 1);
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

  describe("that change", () => {
    const shown = document("saved");
    const parts = setup();
    const change = (isDirty: boolean): Promise<void> | undefined => {
      shown.isDirty = isDirty;
      const changed = (): Promise<void> => {
        sent.push(["didChange"]);
        return Promise.resolve();
      };
      return parts.didChange?.({ document: shown, contentChanges: [], reason: undefined }, changed);
    };

    beforeEach(async () => {
      shown.isDirty = false;
      await parts.didOpen?.(shown, next);
      await settle();
      sent = [];
    });

    it("are told to be saved where they are read again from the disk", async () => {
      await change(false);
      assert.deepEqual(sent, [["didChange"]]);
      await settle();
      assert.deepEqual(sent, [["didChange"], told]);
    });

    it("are not told to be saved where something is typed", async () => {
      await change(true);
      await settle();
      assert.deepEqual(sent, [["didChange"]]);
    });

    it("are not told to be saved by the first letter, though VS Code tells only afterwards that they are dirty", async () => {
      await change(false);
      shown.isDirty = true;
      await settle();
      assert.deepEqual(sent, [["didChange"]]);
    });

    it("are told to be saved once, when they rest", async () => {
      await change(false);
      mock.timers.tick(settleTime - 1);
      await change(false);
      mock.timers.tick(settleTime - 1);
      assert.deepEqual(sent, [["didChange"], ["didChange"]]);
      await settle();
      assert.deepEqual(sent.slice(2), [told]);
    });

    it("are told nothing of once they are closed", async () => {
      await change(false);
      await parts.didClose?.(shown, () => Promise.resolve());
      await settle();
      assert.deepEqual(sent, [["didChange"]]);
    });
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
    assert.deepEqual([sent.length, passed], [1, 2]);
  });
});
