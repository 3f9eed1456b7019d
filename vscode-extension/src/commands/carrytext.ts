// What a carry brings, leaves and cannot decide, as text.
import * as l10n from "@vscode/l10n";
import type { Carry } from "../../../editors/protocol";
import { sizeText } from "../model/text";

const mostListed = 8;

/** One line: "3 added, 1 changed (12 KiB)". */
export function summary(carry: Carry): string {
  const parts = [
    carry.added > 0 && l10n.t("{0} added", carry.added),
    carry.changed > 0 && l10n.t("{0} changed", carry.changed),
    carry.removed > 0 && l10n.t("{0} removed", carry.removed),
    carry.merged > 0 && l10n.t("{0} merged", carry.merged),
  ].filter((part) => part !== false);
  if (parts.length === 0) return l10n.t("no file changes");
  return carry.bytes > 0 ? `${parts.join(", ")} (${sizeText(carry.bytes)})` : parts.join(", ");
}

function carries({ added, changed, removed, merged }: Carry): boolean {
  return added + changed + removed + merged > 0;
}

/** All that a user needs to know, a paragraph each. */
export function details(carry: Carry): string {
  return paragraphs(
    carries(carry) ? brought(l10n.t("Files: {0}", summary(carry)), carry) : l10n.t("No file changes."),
    left(carry),
  );
}

/** All that a user needs to decide what becomes of what both sides changed. */
export function conflictDetails(carry: Carry, there: string): string {
  const paths = carry.conflicts.map(({ path, reason }) => `${path} (${reason})`);
  return paragraphs(
    list(l10n.t("Changed on both sides:"), paths, carry.conflictsAll),
    carries(carry) ? brought(l10n.t("Comes besides: {0}", summary(carry)), carry) : "",
    left(carry),
    l10n.t("Nothing has changed yet. Which version of what was changed on both sides shall {0} have?", there),
  );
}

/** What became of what both sides had changed, a sentence each. */
export function outcome(carry: Carry, replaced: readonly string[]): string[] {
  const stayed = carry.conflicts.map(({ path }) => path);
  return [
    stayed.length > 0 && l10n.t("Stays as it was there: {0}.", names(stayed, carry.conflictsAll)),
    replaced.length > 0 && l10n.t("Replaced what was there: {0}.", names(replaced, replaced.length)),
  ].filter((text) => text !== false);
}

/** The first of some paths, and how many more there are. */
export function names(paths: readonly string[], all: number): string {
  const shown = paths.slice(0, 3);
  const more = all - shown.length;
  return [...shown, ...(more > 0 ? [l10n.t("{0} more", more)] : [])].join(", ");
}

function brought(heading: string, carry: Carry): string {
  const files = carry.files.map(({ path, kind }) => `${sign(kind)} ${path}`);
  return list(heading, files, carry.added + carry.changed + carry.removed);
}

function left(carry: Carry): string {
  const paths = carry.skipped.map(({ path, reason }) => `${path} (${reason})`);
  return list(l10n.t("Stays where it is:"), paths, carry.skippedAll);
}

function paragraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

function list(heading: string, lines: readonly string[], all: number): string {
  if (lines.length === 0 && all === 0) return "";
  const shown = lines.slice(0, mostListed);
  const more = Math.max(all, lines.length) - shown.length;
  return [heading, ...shown, ...(more > 0 ? [l10n.t("and {0} more", more)] : [])].join("\n");
}

function sign(kind: Carry["files"][number]["kind"]): string {
  return { added: "+", changed: "~", removed: "−", merged: "⇄" }[kind];
}
