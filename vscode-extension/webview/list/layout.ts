// Where rows are in a list of which only those on the screen exist: pure arithmetic on heights that were measured or guessed.

/** A row of a list. */
export interface Row {
  /** The same as long as the row shows the same thing, whatever comes before it. */
  readonly key: string;
  /** Of its height in pixels, until it is measured. */
  readonly estimate: number;
}

/** The positions of rows. */
export class Layout {
  /** Of the top of each row, and of the end of the last one. */
  private readonly tops: Float64Array;

  constructor(rows: readonly Row[], heights: ReadonlyMap<string, number>) {
    this.tops = new Float64Array(rows.length + 1);
    let top = 0;
    rows.forEach((row, i) => {
      this.tops[i] = top;
      top += heights.get(row.key) ?? row.estimate;
    });
    this.tops[rows.length] = top;
  }

  get count(): number {
    return this.tops.length - 1;
  }

  /** Of all rows. */
  get height(): number {
    return this.top(this.count);
  }

  /** The top of a row; of one behind the last, the end. */
  top(index: number): number {
    return this.tops[Math.max(0, Math.min(index, this.count))] ?? 0;
  }

  /** The row at a position; the first or last one outside of all. */
  at(position: number): number {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.top(middle) <= position) low = middle;
      else high = middle - 1;
    }
    return Math.max(low, 0);
  }

  /** The rows between two positions: from the first up to, but not with, the second. */
  between(from: number, to: number): [number, number] {
    return this.count === 0 ? [0, 0] : [this.at(from), this.at(to) + 1];
  }
}

/** A row on the screen that stays where it is when others change. */
export interface Anchor {
  readonly key: string;
  /** From its top to the top of the screen; negative while the top is on the screen. */
  readonly offset: number;
}

/** The first row that begins on the screen, or the one that fills it. */
export function anchorAt(rows: readonly Row[], layout: Layout, scroll: number, height: number): Anchor | undefined {
  const first = layout.at(scroll);
  const next = layout.top(first) < scroll && layout.top(first + 1) < scroll + height ? first + 1 : first;
  const row = rows[Math.min(next, rows.length - 1)];
  return row && { key: row.key, offset: scroll - layout.top(Math.min(next, rows.length - 1)) };
}

/** Where to scroll so that the anchor is where it was; undefined when it is no more. */
export function scrollFor(rows: readonly Row[], layout: Layout, anchor: Anchor): number | undefined {
  const index = rows.findIndex((row) => row.key === anchor.key);
  return index < 0 ? undefined : Math.max(0, layout.top(index) + anchor.offset);
}
