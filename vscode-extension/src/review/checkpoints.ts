// Checkpoints as people know them: by what they are of. The same picture, taken several times in a row, is one of several names.
import type { Checkpoint } from "../../../editors/protocol";

/** Joins those in a row that are the same. Oldest first, as they come. */
export function distinct(checkpoints: readonly Checkpoint[]): Checkpoint[] {
  const rows: { checkpoint: Checkpoint; names: Set<string> }[] = [];
  for (const checkpoint of checkpoints) {
    const last = rows.at(-1);
    if (last?.checkpoint.id === checkpoint.id) last.names.add(checkpoint.summary);
    else rows.push({ checkpoint, names: new Set([checkpoint.summary]) });
  }
  return rows.map(({ checkpoint, names }) => ({ ...checkpoint, summary: [...names].join("; ") }));
}

/** Whether two are the same row: a workspace that was brought back to a checkpoint has the same picture as before. */
export function sameRow(a: Checkpoint, b: Checkpoint): boolean {
  return a.id === b.id && a.at === b.at;
}
