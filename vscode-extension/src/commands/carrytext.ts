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

/** All that a user needs to decide, a paragraph each. */
export function details(carry: Carry): string {
  const files = carry.files.map(({ path, kind }) => `${sign(kind)} ${path}`);
  return [
    carries(carry) ? l10n.t("Files: {0}", summary(carry)) : l10n.t("No file changes."),
    list("", files, carry.added + carry.changed + carry.removed),
    list(
      l10n.t("Stays where it is:"),
      carry.skipped.map(({ path, reason }) => `${path} (${reason})`),
      carry.skippedAll,
    ),
    list(
      l10n.t("Changed on both sides:"),
      carry.conflicts.map(({ path, reason }) => `${path} (${reason})`),
      carry.conflictsAll,
    ),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function list(heading: string, lines: readonly string[], all: number): string {
  if (lines.length === 0) return "";
  const shown = lines.slice(0, mostListed);
  const more = Math.max(all, lines.length) - shown.length;
  return [...(heading ? [heading] : []), ...shown, ...(more > 0 ? [l10n.t("and {0} more", more)] : [])].join("\n");
}

function sign(kind: Carry["files"][number]["kind"]): string {
  return { added: "+", changed: "~", removed: "−", merged: "⇄" }[kind];
}
