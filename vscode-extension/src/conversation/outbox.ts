// Sends a session to the page no faster than the page draws: what comes while it draws goes with the next batch, and when that
// would be too much, the session as it is goes instead.
import type { ItemDeltaEvent } from "../../../editors/protocol";
import type { SessionView } from "../model/session";
import type { Change, ToPage } from "./messages";

const maxChanges = 2000;
const maxSize = 2 * 1024 * 1024; // of data, in UTF-16 units

/** What a change weighs, about. */
function sizeOf(change: Change): number {
  if (change.kind === "attached") return maxSize / 4;
  const { event } = change.message;
  return event.type === "item/delta" ? (event satisfies ItemDeltaEvent).data.length : 4096;
}

export class Outbox {
  private batch = 0;
  private drawn = 0;
  private changes: Change[] = [];
  private size = 0;
  private whole = false;

  constructor(
    private readonly post: (message: ToPage) => void,
    /** The session that is shown, as it is now. */
    private readonly view: () => SessionView | undefined,
  ) {}

  /** Sends the session as it is: the page knows nothing, or another one. */
  reset(): void {
    this.drawn = this.batch;
    this.all();
  }

  /** Sends the session as it is as soon as the page can take it. */
  all(): void {
    this.changes = [];
    this.size = 0;
    this.whole = true;
    this.flush();
  }

  /** Sends what happened, now or with the next batch. */
  push(change: Change): void {
    if (this.whole) return; // it is in what will be sent
    this.changes.push(change);
    this.size += sizeOf(change);
    if (this.changes.length > maxChanges || this.size > maxSize) this.all();
    else this.flush();
  }

  /** The page has drawn a batch. */
  acknowledge(batch: number): void {
    this.drawn = Math.max(this.drawn, Math.min(batch, this.batch));
    this.flush();
  }

  private flush(): void {
    if (this.drawn < this.batch || (!this.whole && this.changes.length === 0)) return;
    const batch = ++this.batch;
    const { whole, changes } = this;
    this.whole = false;
    this.changes = [];
    this.size = 0;
    const view = whole ? this.view() : undefined;
    this.post(whole ? { type: "session", batch, ...(view ? { view } : {}) } : { type: "changes", batch, changes });
  }
}
