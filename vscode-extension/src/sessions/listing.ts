// The sessions of the window's folders, as the server lists them; read again from time to time, oftener while somebody looks.
import { EventEmitter, window, workspace, type Disposable } from "vscode";
import type { Session } from "../../../editors/protocol";
import type { Rpc } from "../client/rpc";
import { folders, folderUri } from "../folders";
import type { Sessions } from "./sessions";
import type { Listed } from "./tree";

const pageSize = 200;
const mostSessions = 1000; // of one folder
const shortPause = 3_000; // ms between two readings while somebody looks and one of them works
const longPause = 20_000;

export class Listing implements Disposable {
  private readonly changes = new EventEmitter<void>();
  readonly onDidChange = this.changes.event;
  private listed: readonly Session[] = [];
  private reading: Promise<void> | undefined;
  private again = false;
  private timer: NodeJS.Timeout | undefined;
  private watchers = 0;
  private disposed = false;
  private readonly listeners: Disposable[];
  /** Whether the sessions have been read once. */
  ready = false;

  constructor(
    private readonly rpc: Rpc,
    private readonly attached: Sessions,
    private readonly report: (thrown: unknown) => void,
  ) {
    this.listeners = [
      attached.onUpdate((update) => {
        if (update.kind === "gone") this.refreshSoon();
        else if (update.kind !== "event" || update.message.event.type !== "item/delta") this.changes.fire();
      }),
      rpc.onState((state) => {
        if (state.kind === "ready") this.refreshSoon();
      }),
      workspace.onDidChangeWorkspaceFolders(() => this.refreshSoon()),
      window.onDidChangeWindowState((state) => {
        if (state.focused) this.refreshSoon();
      }),
    ];
  }

  /** Newest first. What this window is attached to is as new as its events. */
  get sessions(): readonly Listed[] {
    return this.listed.map((session) => {
      const view = this.attached.get(session.id);
      return view?.session ? { ...view.session, state: view.state, away: view.away } : session;
    });
  }

  /** Reads the list, and keeps it as new as somebody who looks expects, until it is disposed. */
  watch(): Disposable {
    this.watchers++;
    if (this.watchers === 1) void this.refresh();
    let watching = true;
    return {
      dispose: () => {
        if (watching) this.watchers--;
        watching = false;
      },
    };
  }

  /** Reads the list; calls while it is read lead to one more reading. What fails is reported. */
  refresh(): Promise<void> {
    if (this.disposed) return Promise.resolve();
    this.again = this.reading !== undefined;
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
      if (this.again) void this.refresh();
    });
    return this.reading;
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.timer);
    for (const listener of this.listeners) listener.dispose();
    this.changes.dispose();
  }

  /** Reads the list unless that would start the server, which only what the user does may. */
  private refreshSoon(): void {
    if (this.rpc.state.kind === "ready") void this.refresh();
  }

  private async read(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const uris = folders().map(folderUri);
      const lists = await Promise.all(uris.length > 0 ? uris.map((uri) => this.of(uri)) : [this.of()]);
      const byId = new Map(lists.flat().map((session) => [session.id, session]));
      this.listed = [...byId.values()].sort((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt));
      this.ready = true;
      this.changes.fire();
    } catch (thrown) {
      this.report(thrown);
    }
    clearTimeout(this.timer);
    if (!this.disposed) {
      this.timer = setTimeout(() => this.refreshSoon(), this.watchers > 0 && this.busy() ? shortPause : longPause);
    }
  }

  private async of(workspaceFolder?: string): Promise<Session[]> {
    const all: Session[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.rpc.request("sessions", {
        limit: pageSize,
        ...(workspaceFolder && { workspaceFolder }),
        ...(cursor && { cursor }),
      });
      all.push(...page.sessions);
      cursor = page.nextCursor;
    } while (cursor && all.length < mostSessions);
    return all;
  }

  private busy(): boolean {
    return this.listed.some(
      ({ state }) => state.status !== "idle" && state.status !== "paused" && state.status !== "failed",
    );
  }
}
