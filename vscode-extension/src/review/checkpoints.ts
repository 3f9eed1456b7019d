// Checkpoints as people know them: by what they are of. The same picture, taken several times in a row, is one of several names.
import type { Checkpoint } from "../../../editors/protocol";

/** A checkpoint, called what it was taken for first. */
export interface Row extends Checkpoint {
  /** What else the same picture was taken for, right afterwards. */
  readonly also: readonly string[];
}

/** Joins those in a row that are the same. Oldest first, as they come. */
export function distinct(checkpoints: readonly Checkpoint[]): Row[] {
  const rows: Row[] = [];
  for (const checkpoint of checkpoints) {
    const last = rows.at(-1);
    if (last?.id !== checkpoint.id) rows.push({ ...checkpoint, also: [] });
    else if (![last.summary, ...last.also].includes(checkpoint.summary))
      rows.splice(-1, 1, { ...last, also: [...last.also, checkpoint.summary] });
  }
  return rows;
}

/** Whether two are the same row: a workspace that was brought back to a checkpoint has the same picture as before. */
export function sameRow(a: Checkpoint, b: Checkpoint): boolean {
  return a.id === b.id && a.at === b.at;
}
