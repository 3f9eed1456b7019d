// The slash commands of the conversation's input. What is no command is refused here, and never sent to the model.
import { l10n } from "vscode";
import type { ApprovalMode, Backend, BackendKind } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { rpcError } from "../client/rpc";
import { interrupt, queue, steer } from "./asking";
import { restoreCheckpoint, showDiff } from "./checkpoints";
import { doctor } from "./installation";
import { adoptFork, forkSession, newSession, switchBackend } from "./moving";
import { showRules } from "./approvals";
import {
  approvalModes,
  compact,
  configure,
  configureSession,
  destroy,
  pause,
  renameSession,
  setApprovalMode,
  showSessions,
} from "./sessions";
import { target, type Target } from "./target";

/** One slash command. */
export interface SlashCommand {
  readonly name: string;
  /** What follows it, as it is shown: "[title]" may be left out, "<text>" may not. */
  readonly argument?: string;
  readonly description: string;
  /** What the argument can be. */
  complete?(ctx: Ctx, lead: string): Promise<string[]>;
}

interface Runnable extends SlashCommand {
  run(ctx: Ctx, at: Target, argument: string): Promise<void>;
}

const backends: readonly BackendKind[] = ["local", "docker", "e2b", "daytona"];

function starting(words: readonly string[], lead: string): string[] {
  return words.filter((word) => word.toLowerCase().startsWith(lead.toLowerCase()));
}

/** The argument, if there is one, as a field of what a command is called with. */
function withText(at: Target, key: string, text: string): object {
  return text === "" ? at : { ...at, [key]: text };
}

function backendOf(argument: string): Backend | undefined {
  const [kind, image, ...rest] = argument.split(/\s+/);
  const known = backends.find((one) => one === kind);
  if (argument === "") return undefined;
  if (!known || rest.length > 0 || (image && known === "local"))
    throw refusal(l10n.t("Write /switch {0}.", backends.join("|")));
  return { kind: known, ...(image && { image }) };
}

function modeOf(argument: string): ApprovalMode {
  const mode = approvalModes.find((one) => one === argument);
  if (!mode) throw refusal(l10n.t("Write /mode {0}.", approvalModes.join("|")));
  return mode;
}

class Refusal extends Error {}

function refusal(text: string): Refusal {
  return new Refusal(text);
}

const table: readonly Runnable[] = [
  {
    name: "switch",
    argument: l10n.t("[backend]"),
    description: l10n.t("Move the session to another sandbox, with its files"),
    complete: (_, lead) => Promise.resolve(starting(backends, lead)),
    run: (ctx, at, argument) => switchBackend(ctx, at, backendOf(argument)),
  },
  {
    name: "fork",
    argument: l10n.t("[title]"),
    description: l10n.t("Go on in a new session, from here"),
    run: (ctx, at, argument) => forkSession(ctx, withText(at, "title", argument)),
  },
  {
    name: "adopt",
    description: l10n.t("Bring what this fork has changed to its parent"),
    run: (ctx, at) => adoptFork(ctx, at),
  },
  {
    name: "title",
    argument: l10n.t("<title>"),
    description: l10n.t("Rename the session"),
    run: (ctx, at, argument) => renameSession(ctx, withText(at, "title", argument)),
  },
  {
    name: "new",
    argument: l10n.t("[title]"),
    description: l10n.t("Begin another session"),
    run: (ctx, _, argument) => newSession(ctx, withText({}, "title", argument)),
  },
  { name: "sessions", description: l10n.t("Find a session"), run: (ctx) => showSessions(ctx) },
  { name: "diff", description: l10n.t("Show what was changed"), run: (ctx, at) => showDiff(ctx, at) },
  {
    name: "restore",
    description: l10n.t("Bring the workspace back to a checkpoint"),
    run: (ctx, at) => restoreCheckpoint(ctx, at),
  },
  {
    name: "steer",
    argument: l10n.t("<text>"),
    description: l10n.t("Tell the agent while it works"),
    run: (ctx, at, argument) => steer(ctx, withText(at, "text", argument)),
  },
  { name: "stop", description: l10n.t("Interrupt the turn"), run: (ctx, at) => interrupt(ctx, at) },
  { name: "queue", description: l10n.t("Show what waits for the turn"), run: (ctx, at) => queue(ctx, at) },
  {
    name: "model",
    argument: l10n.t("[model]"),
    description: l10n.t("Choose the model"),
    complete: async (ctx, lead) =>
      starting(
        (await ctx.rpc.request("models", {})).models.map(({ id }) => id),
        lead,
      ),
    run: async (ctx, at, argument) =>
      argument === "" ? configureSession(ctx, at) : configure(ctx, (await target(ctx, at)).id, { model: argument }),
  },
  {
    name: "mode",
    argument: l10n.t("<mode>"),
    description: l10n.t("Choose when the agent asks"),
    complete: (_, lead) => Promise.resolve(starting(approvalModes, lead)),
    run: async (ctx, at, argument) => setApprovalMode(ctx, (await target(ctx, at)).id, modeOf(argument)),
  },
  { name: "rules", description: l10n.t("Show what is allowed for always"), run: (ctx) => showRules(ctx) },
  { name: "compact", description: l10n.t("Shorten what the model is told"), run: (ctx, at) => compact(ctx, at) },
  { name: "done", description: l10n.t("Keep the session for later"), run: (ctx, at) => pause(ctx, at) },
  { name: "destroy", description: l10n.t("End the session with its sandbox"), run: (ctx, at) => destroy(ctx, at) },
  { name: "doctor", description: l10n.t("Check the installation"), run: (ctx) => doctor(ctx) },
];

/** All slash commands, for completion. */
export const slashCommands: readonly SlashCommand[] = table;

/**
 * A line as a slash command: its name, also one that no command has, and its argument; null if it is none, as a path is none in
 * "/etc/hosts is wrong".
 */
export function parseSlash(line: string): { name: string; argument: string } | null {
  const match = /^\/([\w-]*)(?:\s+([\s\S]*))?$/.exec(line.trim());
  return match && { name: (match[1] ?? "").toLowerCase(), argument: (match[2] ?? "").trim() };
}

/** Runs a line that begins with "/". What cannot be run is refused with a reason; what fails is told by the error thrown. */
export async function runSlash(
  ctx: Ctx,
  sessionId: string | undefined,
  line: string,
): Promise<{ readonly refused: string } | { readonly done: true }> {
  const parsed = parseSlash(line);
  const command = parsed && table.find(({ name }) => name === parsed.name);
  if (!command) return { refused: unknown(parsed?.name ?? line.trim()) };
  if (command.argument?.startsWith("<") && parsed.argument === "") {
    return { refused: l10n.t("/{0} needs {1}.", command.name, command.argument) };
  }
  if (!command.argument && parsed.argument !== "")
    return { refused: l10n.t("/{0} takes nothing after it.", command.name) };
  try {
    await command.run(ctx, { ...(sessionId !== undefined && { sessionId }) }, parsed.argument);
    return { done: true };
  } catch (thrown) {
    if (thrown instanceof Refusal) return { refused: thrown.message };
    if (rpcError(thrown).code === "cancelled") return { done: true };
    throw thrown;
  }
}

function unknown(name: string): string {
  const near = (name === "" ? [] : table)
    .filter((command) => command.name.startsWith(name.slice(0, 2)))
    .map((command) => `/${command.name}`);
  const hint = near.length > 0 ? l10n.t("Did you mean {0}?", near.join(", ")) : l10n.t("Type / to see them all.");
  return `${l10n.t("There is no command /{0}.", name.replace(/^\//, ""))} ${hint}`;
}
