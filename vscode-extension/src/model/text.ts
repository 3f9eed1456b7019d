// What is shown of states, usage, times and sizes, in the user's language.
import * as l10n from "@vscode/l10n";
import type { ItemStatus, State, Status, Usage } from "../../../editors/protocol";
import type { Away } from "./session";

/** A state in a word or two. */
export function statusText(status: Status): string {
  switch (status) {
    case "idle":
      return l10n.t("Ready");
    case "running":
      return l10n.t("Running");
    case "waitingApproval":
      return l10n.t("Asks you");
    case "paused":
      return l10n.t("Paused");
    case "switching":
      return l10n.t("Moving");
    case "recovering":
      return l10n.t("Recovering");
    case "failed":
      return l10n.t("Failed");
    case "destroyed":
      return l10n.t("Destroyed");
    default:
      return status; // of a newer server
  }
}

/** What is known of what a session does: its state, and whether nothing comes of it. */
export interface Doing {
  readonly state: State;
  readonly away?: Away | undefined;
}

/** What a session does in a word or two, wherever that is shown. */
export function doingWord({ state, away }: Doing): string {
  return away ? l10n.t("Away") : statusText(state.status);
}

/** What a session does and what it waits for, in one line. */
export function doingText({ state, away }: Doing): string {
  return away ? awayText(away) : stateText(state);
}

/** A state with what is waited for, in one line. */
export function stateText(state: State): string {
  return state.reason ? `${statusText(state.status)}: ${oneLine(state.reason)}` : statusText(state.status);
}

/** Why nothing comes of a session, and what helps. */
export function awayText({ reason, remedy }: Away): string {
  const why = sentence(oneLine(reason)).replace(/\.?$/, ".");
  return remedy ? `${why} ${oneLine(remedy)}` : why;
}

/** The tool that edits files; what it would change is in its arguments. */
export const patchTool = "apply_patch";

/** The tool of an approval that asks whether a turn may go on beyond its budget. */
const budgetTool = "budget";

/** What an approval asks. */
export function questionText(tool: string): string {
  return tool === budgetTool ? l10n.t("May it go on?") : l10n.t("May this run?");
}

/** How far an item is, for those who cannot see its sign. */
export function itemStatusText(status: ItemStatus): string {
  switch (status) {
    case "inProgress":
      return l10n.t("in progress");
    case "completed":
      return l10n.t("done");
    case "failed":
      return l10n.t("failed");
    case "interrupted":
      return l10n.t("interrupted");
    case "denied":
      return l10n.t("denied");
    case "unknown":
      return l10n.t("outcome unknown");
    default:
      return status;
  }
}

/** A backend as people write it. */
export function backendText(kind: string): string {
  const names: Partial<Record<string, string>> = {
    local: l10n.t("local folder"),
    docker: "Docker",
    e2b: "E2B",
    daytona: "Daytona",
  };
  return names[kind] ?? kind;
}

/** Tokens and cost in a few characters: "12.3k tokens · $0.04". */
export function usageText(usage: Usage): string {
  const tokens = l10n.t("{0} tokens", shortNumber(usage.inputTokens + usage.outputTokens));
  const cost = costText(usage);
  return cost ? `${tokens} · ${cost}` : tokens;
}

/** What was spent, with a sign where that is not all of it; "" when no price is known. */
export function costText(usage: Usage): string {
  if (usage.cost === 0 && (usage.unpricedCalls || usage.modelCalls === 0)) return "";
  const dollars = `$${usage.cost.toFixed(usage.cost < 0.1 ? 4 : 2)}`;
  return usage.unpricedCalls ? `≥ ${dollars}` : dollars;
}

/** All that is known of usage, a line each. */
export function usageDetails(usage: Usage): string {
  const n = (value: number): string => value.toLocaleString();
  return [
    l10n.t("Input: {0} tokens, {1} of them cached", n(usage.inputTokens), n(usage.cachedTokens)),
    l10n.t("Output: {0} tokens, {1} of them reasoning", n(usage.outputTokens), n(usage.reasoningTokens)),
    l10n.t("Model calls: {0}", n(usage.modelCalls)),
    ...(usage.unpricedCalls ? [l10n.t("Calls whose price is not known: {0}", n(usage.unpricedCalls))] : []),
    ...(costText(usage) ? [l10n.t("Cost: {0}", costText(usage))] : []),
  ].join("\n");
}

/** 999, 1.2k, 3.4M. */
export function shortNumber(value: number): string {
  if (value < 1000) return String(value);
  return value < 999_950 ? `${(value / 1000).toFixed(1)}k` : `${(value / 1_000_000).toFixed(1)}M`;
}

/** A size of content in bytes. */
export function sizeText(bytes: number): string {
  if (bytes < 10 * 1024) return l10n.t("{0} bytes", bytes);
  return bytes < 10 * 1024 * 1024 ? `${Math.floor(bytes / 1024)} KiB` : `${Math.floor(bytes / 1024 / 1024)} MiB`;
}

/** A duration in ms: "0.4 s", "3:20 min", "2:05 h". */
export function durationText(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const [big, small, unit] =
    ms < 3_600_000 ? [ms / 60_000, (ms / 1000) % 60, "min"] : [ms / 3_600_000, (ms / 60_000) % 60, "h"];
  return `${Math.floor(big)}:${String(Math.floor(small)).padStart(2, "0")} ${unit}`;
}

/** For how long something has lasted; "" while it is not worth saying. */
export function sinceText(since: string, now: number): string {
  const ms = now - Date.parse(since);
  if (!(ms >= 2000)) return "";
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : durationText(ms);
}

/** Text of others on one line. */
export function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, " ").trim();
}

/** A message of the server as a sentence: it begins with a small letter where it may be a part of another. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What is the matter and what helps, as sentences. */
export function advice({ message, remedy }: { message: string; remedy?: string | undefined }): string {
  return remedy ? `${sentence(message)}${/[.!?…]$/.test(message) ? "" : "."} ${sentence(remedy)}` : sentence(message);
}

/** A text as a block of code in Markdown, whatever is in it. */
export function codeBlock(text: string, language = ""): string {
  const longest = [...text.matchAll(/`+/g)].reduce((length, [run]) => Math.max(length, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
