// The chat participant @sandbox, where VS Code has a chat: asks in the current session and tells what comes of it.
import * as vscode from "vscode";
import type { AskResult, Event, Item } from "../../editors/protocol";
import { rpcError } from "./client/rpc";
import { targetOrNew } from "./commands/target";
import type { Ctx } from "./ctx";
import { codeBlock, oneLine, sentence } from "./model/text";

/** Registers the participant; an editor without a chat has none. */
export function registerChat(ctx: Ctx): vscode.Disposable[] {
  const chat = vscode.chat as typeof vscode.chat | undefined; // editors built from VS Code may lack it
  if (typeof chat?.createChatParticipant !== "function") return [];
  const participant = chat.createChatParticipant("sandbox-agent.sandbox", async (request, _, stream, token) => {
    try {
      await answer(ctx, request.prompt, stream, token);
      return {};
    } catch (thrown) {
      return { errorDetails: { message: sentence(rpcError(thrown).advice) } };
    }
  });
  participant.iconPath = new vscode.ThemeIcon("package");
  return [participant];
}

async function answer(
  ctx: Ctx,
  text: string,
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<void> {
  const sessionId = await targetOrNew(ctx);
  if (sessionId === undefined) return;
  const ended = follow(ctx, sessionId, stream);
  try {
    const asked = await ctx.rpc.request("ask", { requestId: crypto.randomUUID(), sessionId, text });
    stream.progress(asked.queued ? vscode.l10n.t("Waits for the running turn") : vscode.l10n.t("Asked"));
    const stop = token.onCancellationRequested(() => {
      void withdraw(ctx, asked);
      ended.leave();
    });
    await ended.turn(asked.turnId).finally(() => void stop.dispose());
  } finally {
    ended.dispose();
  }
  stream.button({ command: "sandboxAgent.openSession", title: vscode.l10n.t("Open"), arguments: [{ sessionId }] });
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

/** Writes what a session completes into a response, and tells when a turn has ended. */
function follow(ctx: Ctx, sessionId: string, stream: vscode.ChatResponseStream) {
  const ends = new Set<number>();
  const waiters: { turnId: number; resolve: () => void }[] = [];
  const check = (): void => {
    for (const { turnId, resolve } of waiters) if (ends.has(turnId)) resolve();
  };
  const leave = (): void => waiters.forEach(({ resolve }) => resolve());
  const listener = ctx.sessions.onUpdate((update) => {
    if (update.sessionId !== sessionId) return;
    if (update.kind === "event") tell(update.message.event, stream, sessionId, ends);
    if (update.kind === "gone") leave();
    // After a reconnection the end may be in what was missed, or in no event at all.
    if (update.kind === "attached" && update.result.state.status === "idle") ends.add(update.result.session.turnId);
    check();
  });
  return {
    turn: (turnId: number) =>
      new Promise<void>((resolve) => {
        waiters.push({ turnId, resolve });
        check();
      }),
    /** Waits for nothing any more. */
    leave,
    dispose(): void {
      listener.dispose();
    },
  };
}

function tell(event: Event, stream: vscode.ChatResponseStream, sessionId: string, ends: Set<number>): void {
  switch (event.type) {
    case "item/started":
    case "item/completed":
      tellItem(event.item, event.type === "item/completed", stream);
      break;
    case "approval/requested":
      // In a block of code nothing of it is taken for Markdown: what is allowed is read as it will run.
      stream.markdown(
        `\n\n**${vscode.l10n.t("It waits for your answer:")}**\n\n${codeBlock(event.approval.subject)}\n\n`,
      );
      for (const [command, title] of [
        ["allowApproval", vscode.l10n.t("Allow")],
        ["denyApproval", vscode.l10n.t("Deny")],
      ] as const) {
        const node = { sessionId, approval: event.approval };
        stream.button({ command: `sandboxAgent.${command}`, title, arguments: [node] });
      }
      break;
    case "turn/completed":
      if (event.status !== "completed")
        stream.markdown(`\n\n${event.message ?? vscode.l10n.t("The turn was interrupted.")}`);
      ends.add(event.turnId);
      break;
    default:
  }
}

function tellItem(item: Item, complete: boolean, stream: vscode.ChatResponseStream): void {
  if (item.kind === "toolCall" && !complete) stream.progress(oneLine(item.text || item.tool || ""));
  if (!complete || !item.text) return;
  if (item.kind === "agentMessage") stream.markdown(`${item.text}\n\n`);
  if (item.kind === "notice") stream.markdown(`*${oneLine(item.text)}*\n\n`);
}
