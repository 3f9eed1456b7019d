// What a call that edits files would change, as its arguments say: it is seen before it is allowed.
import type { Item } from "../../editors/protocol";
import { patchTool } from "../src/model/text";
import { filesOf, type DiffFile, type DiffLine } from "./diff";

/** Whether what a call is about to change, or would have changed, is to be read from its arguments. */
export function proposes(item: Item): boolean {
  return item.tool === patchTool && !item.diff && item.status !== "completed" && item.arguments !== undefined;
}

/** The patch that arguments have; undefined while a part of them is missing, or when they are of another shape. */
export function patchOf(argumentsText: string): string | undefined {
  try {
    const given = JSON.parse(argumentsText) as Record<string, unknown>;
    // The tool finds its patch by other spellings of the name as well, so no other name may stand beside it.
    const { patch } = given;
    return Object.keys(given).length === 1 && typeof patch === "string" ? patch : undefined;
  } catch {
    return undefined;
  }
}

const envelope = /^\*{2,}\s*(?:begin|end)(?:\s+of)?\s+patch/i;
const marker = /^\*{2,}\s*(\w+)\s+file\s*:?\s*(.+)$/i;

/** The files of a patch: one in an envelope of its own, or a unified diff. */
export function filesOfPatch(patch: string): readonly DiffFile[] {
  const lines = patch.replace(/\n$/, "").split("\n");
  if (!lines.some((line) => marker.test(line))) return filesOf(patch);
  const files: { path: string; lines: DiffLine[] }[] = [];
  for (const text of lines) {
    if (envelope.test(text)) continue;
    const [begins, verb = "", path = ""] = marker.exec(text) ?? [];
    if (begins || files.length === 0) files.push({ path: path.trim(), lines: [] });
    if (/^(update|modify|edit)$/i.test(verb)) continue; // which is what the lines say themselves
    files.at(-1)?.lines.push({ kind: kindOf(text), text });
  }
  return files.map(({ path, lines }) => {
    const count = (kind: DiffLine["kind"]): number => lines.filter((line) => line.kind === kind).length;
    return { path, line: 0, lines, added: count("added"), removed: count("removed") };
  });
}

function kindOf(text: string): DiffLine["kind"] {
  if (text.startsWith("@@")) return "hunk";
  if (text.startsWith("***")) return "meta";
  const kinds: Partial<Record<string, DiffLine["kind"]>> = { "+": "added", "-": "removed" };
  return kinds[text[0] ?? ""] ?? "context";
}
