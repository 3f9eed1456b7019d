import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { WebviewView } from "vscode";
import { EventEmitter } from "vscode";
import { RpcError } from "../../../src/client/rpc";
import type { FromPage, ToPage } from "../../../src/conversation/messages";
import { registerConversation } from "../../../src/conversation/provider";
import type { Base, Conversation } from "../../../src/ctx";
import { Sessions } from "../../../src/sessions/sessions";
import { delta, session, snapshot, started } from "../model/make";
import { FakeRpc, settled } from "../rpc";
import { world } from "../vscode";

/** The page as the extension sees it. */
class Page {
  readonly heard: ToPage[] = [];
  readonly disposed = new EventEmitter<void>();
  private readonly said = new EventEmitter<unknown>();
  readonly view = {
    visible: true,
    onDidDispose: this.disposed.event,
    webview: {
      options: {},
      html: "",
      cspSource: "https://own",
      asWebviewUri: (uri: unknown) => uri,
      onDidReceiveMessage: this.said.event,
      postMessage: (message: ToPage) => Promise.resolve(this.heard.push(message) > 0),
    },
  };

  says(message: FromPage | Record<string, unknown>): Promise<void> {
    this.said.fire(message);
    return settled();
  }

  of<T extends ToPage["type"]>(type: T): Extract<ToPage, { type: T }>[] {
    return this.heard.filter((message): message is Extract<ToPage, { type: T }> => message.type === type);
  }
}

describe("the conversation's view", () => {
  let rpc: FakeRpc;
  let sessions: Sessions;
  let conversation: Conversation;
  const warnings: string[] = [];

  beforeEach(() => {
    world.reset();
    warnings.length = 0;
    rpc = new FakeRpc();
    rpc.answers.attach = () => snapshot(0, []);
    const values = new Map<string, unknown>();
    const memory = {
      get: (key: string) => values.get(key),
      update: (key: string, value: unknown) => Promise.resolve(void values.set(key, value)),
    };
    sessions = new Sessions(rpc, memory as never);
    const ctx = {
      rpc,
      sessions,
      obstacles: { current: undefined, onDidChange: new EventEmitter<void>().event },
      listing: { refresh: () => Promise.resolve() },
      log: { warn: (text: string) => warnings.push(text) },
      extension: { workspaceState: memory, extensionUri: "ext:" },
    };
    conversation = registerConversation(ctx as unknown as Base);
  });
  afterEach(() => {
    conversation.dispose();
    sessions.dispose();
  });

  async function page(): Promise<Page> {
    const page = new Page();
    const provider = world.views.get("sandboxAgent.conversation") as { resolveWebviewView(view: WebviewView): void };
    provider.resolveWebviewView(page.view as unknown as WebviewView);
    await page.says({ type: "ready" });
    return page;
  }

  it("starts nothing before it is shown", () => {
    assert.deepEqual(rpc.asked, []);
    assert.equal(conversation.visible, false);
  });

  it("says that there is no session where there is no folder", async () => {
    const shown = await page();
    assert.deepEqual(shown.of("session"), [{ type: "session", batch: 1 }]);
    assert.deepEqual(rpc.asked, []);
  });

  it("shows the latest session of the folder, and what happens to it, no faster than it is drawn", async () => {
    world.folders = [world.folder("/w")];
    rpc.answers.sessions = () => ({ sessions: [session()] });
    const shown = await page();
    await settled();
    const batch = shown.of("session").at(-1);
    assert.equal(batch?.view?.id, "s1");
    rpc.emit(started(1));
    rpc.emit(delta(1, 0, "a"));
    await shown.says({ type: "drawn", batch: batch.batch });
    assert.equal(
      shown.of("changes").reduce((sum, { changes }) => sum + changes.length, 0),
      2,
    );
  });

  it("tells a page that has begun anew all that is known, with what was streamed", async () => {
    await sessions.attach("s1");
    sessions.use("s1");
    const first = await page();
    rpc.emit(started(1));
    rpc.emit(delta(1, 0, "streamed"));
    first.disposed.fire();
    const second = await page();
    assert.equal(second.of("session").at(-1)?.view?.live.i1?.text, "streamed");
    assert.equal(rpc.of("attach").length, 1);
  });

  it("does what the page asks for, and tells why not", async () => {
    await sessions.attach("s1");
    sessions.use("s1");
    const shown = await page();
    rpc.answers.ask = () => ({ sessionId: "s1", turnId: 1, itemId: "i1", queued: false, seq: 1 });
    await shown.says({ type: "call", id: 1, name: "ask", given: { sessionId: "s1", text: "Hi", requestId: "r1" } });
    assert.deepEqual(rpc.of("ask"), [{ requestId: "r1", sessionId: "s1", text: "Hi" }]);
    rpc.answers.interrupt = () => {
      throw new RpcError("conflict", "The turn has ended.", "Ask again.");
    };
    await shown.says({ type: "call", id: 2, name: "stop", given: { sessionId: "s1", turnId: 1 } });
    await shown.says({ type: "call", id: 3, name: "slash", given: { sessionId: "s1", line: "/nosuch" } });
    await shown.says({ type: "call", id: 4, name: "copy", given: { text: "code" } });
    const replies = shown.of("reply");
    assert.deepEqual(replies[0], { type: "reply", id: 1, answer: { sessionId: "s1", queued: false } });
    assert.deepEqual(replies[1], {
      type: "reply",
      id: 2,
      problem: { message: "The turn has ended.", remedy: "Ask again." },
    });
    assert.match(JSON.stringify(replies[2]), /There is no command \/nosuch/);
    assert.deepEqual(world.copied, ["code"]);
  });

  it("does nothing that makes no sense", async () => {
    const shown = await page();
    await shown.says({ type: "call", id: 1, name: "ask", given: { text: 5 } });
    await shown.says({ type: "explode" });
    assert.match(shown.of("reply")[0]?.problem?.message ?? "", /makes no sense/);
    assert.deepEqual(rpc.of("ask"), []);
    assert.equal(warnings.length, 2);
  });

  it("puts text into the input once the page hears", async () => {
    await conversation.focusInput("about this");
    const shown = await page();
    assert.deepEqual(shown.of("insert"), [{ type: "insert", text: "about this" }]);
    assert.deepEqual(world.executed, ["sandboxAgent.conversation.focus"]);
  });

  it("tells what a new session gets: what the user has set, else what the server says", async () => {
    const shown = await page();
    assert.deepEqual(shown.of("fresh"), []);
    rpc.ready();
    world.settings.user["sandboxAgent.backend"] = "docker";
    rpc.ready();
    assert.deepEqual(shown.of("fresh"), [
      { type: "fresh", backend: "local", model: "demo" },
      { type: "fresh", backend: "docker", model: "demo" },
    ]);
  });
});
