// The command that stops one command of the agent's; the turn goes on.
import { l10n, window } from "vscode";
import type { Ctx } from "../ctx";
import { runningCommands, type RunningCommand } from "../model/running";
import { oneLine, sentence } from "../model/text";
import { sayInfo } from "../say";
import { given, target } from "./target";

/** Stops the command that the argument names by itemId, else one that the user chooses. */
export async function stopCommand(ctx: Ctx, argument?: unknown): Promise<void> {
  const view = await target(ctx, argument);
  const itemId = given(argument, "itemId") ?? (await choose(runningCommands(view)));
  if (itemId === undefined) return;
  const { how } = await ctx.rpc.request("stop", { requestId: crypto.randomUUID(), sessionId: view.id, itemId });
  sayInfo(sentence(how));
}

async function choose(running: readonly RunningCommand[]): Promise<string | undefined> {
  if (running.length === 0) {
    sayInfo(l10n.t("No command of this session runs."));
    return undefined;
  }
  const choices = running.map(({ itemId, command, background }) => ({
    label: `$(debug-stop) ${oneLine(command)}`,
    description: background ? l10n.t("in the background") : l10n.t("the turn waits for it"),
    itemId,
  }));
  const placeHolder = l10n.t("Which command shall be stopped? The turn goes on.");
  return (await window.showQuickPick(choices, { placeHolder }))?.itemId;
}
