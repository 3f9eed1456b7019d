// The commands that talk to the agent: ask, steer, queue, interrupt.
import { l10n, window, workspace, type TextEditor } from "vscode";
import type { Context, QueuedMessage } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { busy } from "../model/session";
import { oneLine } from "../model/text";
import { sayInfo } from "../say";
import { title } from "../sessions/tree";
import { given, named, target, targetFor, targetOrNew } from "./target";

const longestSelection = 100_000; // UTF-16 units of a selection that go along as text

/** Asks, and shows the conversation. The text may come with the argument. */
export async function ask(ctx: Ctx, argument?: unknown): Promise<void> {
  const text = given(argument, "text") ?? (await input(prompt(ctx, argument), l10n.t("Why does the login test fail?")));
  if (text) await send(ctx, text, [], () => targetOrNew(ctx, argument));
}

/** Asks about what is selected in the active editor. */
export async function askAboutSelection(ctx: Ctx, argument?: unknown): Promise<void> {
  const editor = window.activeTextEditor;
  const context = editor && selection(editor);
  if (!editor || !context) {
    sayInfo(l10n.t("Nothing is selected in a file of the workspace."));
    return;
  }
  const text =
    given(argument, "text") ?? (await input(l10n.t("Ask about the selection"), l10n.t("What does this do?")));
  if (text) await send(ctx, text, [context], () => targetFor(ctx, argument, editor.document.uri));
}

function selection(editor: TextEditor): Context | undefined {
  const { document, selection: range } = editor;
  if (range.isEmpty || document.uri.scheme !== "file" || !workspace.getWorkspaceFolder(document.uri)) return undefined;
  return {
    kind: "selection",
    uri: document.uri.toString(),
    range: { start: { ...position(range.start) }, end: { ...position(range.end) } },
    text: document.getText(range).slice(0, longestSelection),
  };
}

function position({ line, character }: { line: number; character: number }): { line: number; character: number } {
  return { line, character };
}

/** Says in which session is asked, as far as that is known without waiting. */
function prompt(ctx: Ctx, argument: unknown): string {
  const id = named(argument) ?? ctx.sessions.current;
  const session = id === undefined ? undefined : ctx.sessions.get(id)?.session;
  return session ? l10n.t("Ask the agent in “{0}”", title(session)) : l10n.t("Ask the agent");
}

/** Finds the session that is asked. */
type Find = () => Promise<string | undefined>;

/** Asks in a session, which is shown then. What cannot be sent stays, in the input of the conversation. */
async function send(ctx: Ctx, text: string, context: Context[], find: Find): Promise<void> {
  try {
    if (await sent(ctx, text, context, find)) return;
  } catch (thrown) {
    await ctx.conversation.focusInput(text);
    throw thrown;
  }
  await ctx.conversation.focusInput(text);
}

async function sent(ctx: Ctx, text: string, context: Context[], find: Find): Promise<boolean> {
  const sessionId = await find();
  if (sessionId === undefined) return false;
  await ctx.conversation.reveal(sessionId);
  await ctx.rpc.request("ask", {
    requestId: crypto.randomUUID(),
    sessionId,
    text,
    ...(context.length > 0 && { context }),
  });
  void ctx.listing.refresh();
  return true;
}

function input(prompt: string, placeHolder: string, value = ""): Thenable<string | undefined> {
  return window
    .showInputBox({ prompt, placeHolder, value, ignoreFocusOut: true })
    .then((text) => (text?.trim() ? text : undefined));
}

/** Adds to the running turn. */
export async function steer(ctx: Ctx, argument?: unknown): Promise<void> {
  const view = await target(ctx, argument);
  if (!busy(view)) {
    sayInfo(l10n.t("No turn runs; ask instead."));
    return;
  }
  const text =
    given(argument, "text") ??
    (await input(l10n.t("Tell the agent, while it works"), l10n.t("Leave the tests alone.")));
  if (!text) return;
  const expectedTurnId = view.session.turnId;
  await ctx.rpc.request("steer", { requestId: crypto.randomUUID(), sessionId: view.id, expectedTurnId, text });
}

/** Ends the running turn. */
export async function interrupt(ctx: Ctx, argument?: unknown): Promise<void> {
  const view = await target(ctx, argument);
  if (!busy(view)) {
    sayInfo(l10n.t("No turn runs."));
    return;
  }
  await ctx.rpc.request("interrupt", {
    requestId: crypto.randomUUID(),
    sessionId: view.id,
    turnId: view.session.turnId,
  });
}

/** Shows what waits for the running turn, to edit it, to take it back, or to add to it. */
export async function queue(ctx: Ctx, argument?: unknown): Promise<void> {
  const view = await target(ctx, argument);
  const { queued } = await ctx.rpc.request("queue", { sessionId: view.id, op: "list" });
  const add = { label: `$(add) ${l10n.t("Add a request…")}`, message: undefined };
  const items = queued.map((message) => ({ label: oneLine(message.text), message }));
  const placeHolder = queued.length === 0 ? l10n.t("Nothing waits") : l10n.t("{0} waiting", queued.length);
  const picked = await window.showQuickPick<{ label: string; message: QueuedMessage | undefined }>([...items, add], {
    placeHolder,
  });
  if (!picked) return;
  if (picked.message) await changeQueued(ctx, view.id, picked.message);
  else await ask(ctx, { sessionId: view.id });
}

async function changeQueued(ctx: Ctx, sessionId: string, message: QueuedMessage): Promise<void> {
  const [edit, remove] = [`$(edit) ${l10n.t("Edit…")}`, `$(trash) ${l10n.t("Remove")}`];
  const op = await window.showQuickPick([edit, remove], { placeHolder: oneLine(message.text) });
  const requestId = crypto.randomUUID();
  if (op === remove) await ctx.rpc.request("queue", { requestId, sessionId, op: "remove", itemId: message.itemId });
  if (op !== edit) return;
  const text = await input(l10n.t("The request that waits"), "", message.text);
  if (text) await ctx.rpc.request("queue", { requestId, sessionId, op: "edit", itemId: message.itemId, text });
}
