// How long to wait before something that ended is started again.

/** Pauses that double from `first` to `last` milliseconds, and begin anew after `settled` milliseconds of health. */
export class Backoff {
  private next: number;
  private healthySince: number | undefined;

  constructor(
    private readonly first = 200,
    private readonly last = 10_000,
    private readonly settled = 30_000,
    private readonly now: () => number = Date.now,
  ) {
    this.next = first;
  }

  /** Notes that it works. */
  healthy(): void {
    this.healthySince = this.now();
  }

  /** The pause after an end, in milliseconds. */
  pause(): number {
    if (this.healthySince !== undefined && this.now() - this.healthySince > this.settled) this.next = this.first;
    this.healthySince = undefined;
    const pause = this.next;
    this.next = Math.min(pause * 2, this.last);
    return pause;
  }

  /** Begins anew with the shortest pause. */
  reset(): void {
    this.next = this.first;
    this.healthySince = undefined;
  }
}
