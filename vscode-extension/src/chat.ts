// The chat participant @sandbox, where VS Code has a chat: asks in the current session and tells what comes of it.
import * as vscode from "vscode";
import type { AskResult, Context } from "../../editors/protocol";
import { ChatTurn, type Ended } from "./chatturn";
import { rpcError } from "./client/rpc";
import { parseSlash, runSlash } from "./commands/slash";
import { targetOrNew } from "./commands/target";
import type { Ctx } from "./ctx";
import { advice } from "./model/text";
import { remedies } from "./say";

/** Registers the participant; an editor without a chat has none. */
export function registerChat(ctx: Ctx): vscode.Disposable[] {
  const chat = vscode.chat as typeof vscode.chat | undefined; // editors built from VS Code may lack it
  if (typeof chat?.createChatParticipant !== "function") return [];
  const participant = chat.createChatParticipant("sandbox-agent.sandbox", async (request, _, stream, token) => {
    try {
      if (parseSlash(request.prompt)) return await command(ctx, request.prompt, stream);
      const failure = await answer(ctx, request, stream, token);
      return failure === undefined ? {} : failed(failure, request.prompt);
    } catch (thrown) {
      const error = rpcError(thrown);
      for (const remedy of remedies(error)) stream.button({ ...remedy, arguments: [...(remedy.arguments ?? [])] });
      return failed(advice(error), request.prompt);
    }
  });
  participant.iconPath = new vscode.ThemeIcon("package");
  participant.followupProvider = { provideFollowups: ({ metadata }) => followups(metadata) };
  return [participant];
}

function failed(message: string, prompt: string): vscode.ChatResult {
  return { errorDetails: { message }, metadata: { again: prompt } };
}

/** What failed can be asked again. */
function followups(metadata: vscode.ChatResult["metadata"]): vscode.ChatFollowup[] {
  const again: unknown = metadata?.again;
  return typeof again === "string" ? [{ prompt: again, label: vscode.l10n.t("Ask again") }] : [];
}

/** Asks, and tells of the turn until it ends. What it returns is why it failed. */
async function answer(
  ctx: Ctx,
  { prompt: text, references }: vscode.ChatRequest,
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<string | undefined> {
  const sessionId = await targetOrNew(ctx);
  if (sessionId === undefined) return undefined;
  const context = (await Promise.all(references.map(contextOf))).filter((one) => one !== undefined);
  const asked = await ctx.rpc.request("ask", {
    requestId: crypto.randomUUID(),
    sessionId,
    text,
    ...(context.length > 0 && { context }),
  });
  void ctx.listing.refresh();
  stream.progress(asked.queued ? vscode.l10n.t("Waits for the running turn") : vscode.l10n.t("Asked"));
  const { changed, failure } = await ended(ctx, asked, stream, token);
  const at = [{ sessionId }];
  if (changed) stream.button({ command: "sandboxAgent.showDiff", title: vscode.l10n.t("Show Diff"), arguments: at });
  stream.button({ command: "sandboxAgent.openSession", title: vscode.l10n.t("Open"), arguments: at });
  return failure;
}

/** Runs a slash command of the conversation; what is none is never sent to the model. */
async function command(ctx: Ctx, line: string, stream: vscode.ChatResponseStream): Promise<vscode.ChatResult> {
  const result = await runSlash(ctx, ctx.sessions.current, line);
  if ("refused" in result) return { errorDetails: { message: result.refused } };
  stream.markdown(vscode.l10n.t("Done."));
  return {};
}

/** What the user has attached to the question, if it is of a file. */
async function contextOf({ value }: vscode.ChatPromptReference): Promise<Context | undefined> {
  if (value instanceof vscode.Uri && value.scheme === "file")
    return { kind: "file", uri: value.toString(), mentioned: true };
  if (!(value instanceof vscode.Location) || value.uri.scheme !== "file") return undefined;
  const { uri, range } = value;
  const document = await vscode.workspace.openTextDocument(uri);
  const place = ({ line, character }: vscode.Position) => ({ line, character });
  return {
    kind: "selection",
    uri: uri.toString(),
    range: { start: place(range.start), end: place(range.end) },
    text: document.getText(range),
    mentioned: true,
  };
}

/** Writes what comes of a question until its turn has ended, or the user stops it. */
function ended(
  ctx: Ctx,
  asked: AskResult,
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<Ended> {
  const { sessionId } = asked;
  const turn = new ChatTurn(stream, asked);
  const listeners: vscode.Disposable[] = [];
  return new Promise<Ended>((resolve) => {
    listeners.push(
      token.onCancellationRequested(() => {
        void withdraw(ctx, asked);
        resolve({ changed: false });
      }),
      ctx.sessions.onUpdate((update) => {
        if (update.sessionId === sessionId) look(update);
      }),
    );
    const look = (update?: Parameters<ChatTurn["draw"]>[1]): void => {
      const view = ctx.sessions.get(sessionId);
      const end = view ? turn.draw(view, update) : { changed: false };
      if (end) resolve(end);
    };
    look();
  }).finally(() => listeners.forEach((listener) => void listener.dispose()));
}

/** Takes a question back that waits, and interrupts its turn if it has begun. */
async function withdraw(ctx: Ctx, { sessionId, turnId, itemId, queued }: AskResult): Promise<void> {
  try {
    if (queued && (await removed(ctx, sessionId, itemId))) return;
    await ctx.rpc.request("interrupt", { requestId: crypto.randomUUID(), sessionId, turnId });
  } catch (thrown) {
    ctx.log.warn(`interrupting a turn of the chat: ${rpcError(thrown).message}`);
  }
}

async function removed(ctx: Ctx, sessionId: string, itemId: string): Promise<boolean> {
  try {
    await ctx.rpc.request("queue", { requestId: crypto.randomUUID(), sessionId, op: "remove", itemId });
    return true;
  } catch (thrown) {
    ctx.log.info(`a question of the chat waits no more: ${rpcError(thrown).message}`);
    return false;
  }
}
