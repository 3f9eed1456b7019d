// What waits for an answer in the sessions of this window. Sessions that ask are attached to for as long as they do, so that
// their approvals are known also while nobody looks at them.
import { EventEmitter, type Disposable } from "vscode";
import type { Approval } from "../../../editors/protocol";
import type { Listing } from "./listing";
import type { Sessions } from "./sessions";

/** An approval and its session; also what a command gets from the view of approvals. */
export interface Pending {
  readonly sessionId: string;
  readonly approval: Approval;
}

export class Waiting implements Disposable {
  private readonly changes = new EventEmitter<void>();
  private readonly requests = new EventEmitter<Pending>();
  private readonly listeners: Disposable[];
  /** Sessions that are attached only because they ask. */
  private readonly visited = new Set<string>();
  private known = new Set<string>();
  readonly onDidChange = this.changes.event;
  /** Tells of each approval once, when it comes to be known. */
  readonly onRequested = this.requests.event;

  constructor(
    private readonly sessions: Sessions,
    private readonly listing: Listing,
  ) {
    this.listeners = [
      listing.onDidChange(() => this.visit()),
      sessions.onUpdate((update) => {
        if (update.kind !== "event" || update.message.event.type !== "item/delta") this.look();
      }),
    ];
  }

  /** Oldest first. */
  get all(): readonly Pending[] {
    return this.sessions
      .all()
      .flatMap((view) => view.pendingApprovals.map((approval) => ({ sessionId: view.id, approval })))
      .sort((a, b) => Date.parse(a.approval.at) - Date.parse(b.approval.at));
  }

  /** The oldest one of a session. */
  of(sessionId: string): Pending | undefined {
    return this.all.find((pending) => pending.sessionId === sessionId);
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
    this.changes.dispose();
    this.requests.dispose();
  }

  private look(): void {
    const now = this.all;
    const ids = new Set(now.map(({ approval }) => approval.id));
    const isNew = now.filter(({ approval }) => !this.known.has(approval.id));
    const changed = isNew.length > 0 || ids.size !== this.known.size;
    this.known = ids;
    if (changed) this.changes.fire();
    for (const pending of isNew) this.requests.fire(pending);
  }

  private visit(): void {
    for (const { id, state } of this.listing.sessions) {
      const asks = state.status === "waitingApproval";
      if (asks && !this.sessions.get(id)) {
        this.visited.add(id);
        this.sessions.attach(id).catch(() => this.visited.delete(id)); // the next reading of the list tries again
      }
      if (!asks && this.visited.has(id) && this.sessions.get(id)) this.leave(id);
    }
  }

  private leave(id: string): void {
    this.visited.delete(id);
    if (id !== this.sessions.current) this.sessions.detach(id).catch(() => undefined); // then no events come anyway
  }
}
