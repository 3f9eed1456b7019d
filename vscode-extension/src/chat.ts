// The chat participant @sandbox, where VS Code has a chat: asks in the current session and tells what comes of it.
import * as vscode from "vscode";
import type { AskResult, Event, Item } from "../../editors/protocol";
import { rpcError } from "./client/rpc";
import { targetOrNew } from "./commands/target";
import type { Ctx } from "./ctx";
import { oneLine } from "./model/text";

/** Registers the participant; an editor without a chat has none. */
export function registerChat(ctx: Ctx): vscode.Disposable[] {
  const chat = vscode.chat as typeof vscode.chat | undefined; // editors built from VS Code may lack it
  if (typeof chat?.createChatParticipant !== "function") return [];
  const participant = chat.createChatParticipant("sandbox-agent.sandbox", async (request, _, stream, token) => {
    try {
      await answer(ctx, request.prompt, stream, token);
      return {};
    } catch (thrown) {
      return { errorDetails: { message: rpcError(thrown).advice } };
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
    const stop = token.onCancellationRequested(() => void interrupt(ctx, asked));
    await ended.turn(asked.turnId).finally(() => void stop.dispose());
  } finally {
    ended.dispose();
  }
  stream.button({ command: "sandboxAgent.openSession", title: vscode.l10n.t("Open"), arguments: [{ sessionId }] });
}

async function interrupt(ctx: Ctx, { sessionId, turnId }: AskResult): Promise<void> {
  try {
    await ctx.rpc.request("interrupt", { requestId: crypto.randomUUID(), sessionId, turnId });
  } catch (thrown) {
    ctx.log.warn(`interrupting a turn of the chat: ${rpcError(thrown).message}`);
  }
}

/** Writes what a session completes into a response, and tells when a turn has ended. */
function follow(ctx: Ctx, sessionId: string, stream: vscode.ChatResponseStream) {
  const ends = new Set<number>();
  const waiters: { turnId: number; resolve: () => void }[] = [];
  const check = (): void => {
    for (const { turnId, resolve } of waiters) if (ends.has(turnId)) resolve();
  };
  const listener = ctx.sessions.onUpdate((update) => {
    if (update.sessionId !== sessionId) return;
    if (update.kind === "event") tell(update.message.event, stream, sessionId, ends);
    if (update.kind === "gone") waiters.forEach(({ resolve }) => resolve());
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
      stream.markdown(
        `\n\n**${vscode.l10n.t("It waits for your answer:")}** \`${oneLine(event.approval.subject)}\`\n\n`,
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
