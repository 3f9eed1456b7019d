// The sessions that this window is attached to. They attach again from the last event they know when the server was gone, so
// that nothing is missed and nothing comes twice.
import { EventEmitter, type Disposable, type Memento } from "vscode";
import type { AttachResult, EventMessage } from "../../../editors/protocol";
import { Backoff } from "../client/backoff";
import { rpcError, type Rpc, type RpcError } from "../client/rpc";
import { advice } from "../model/text";
import { applied, attached, emptyView, type SessionView } from "../model/session";

/** What happened to an attached session. */
export type SessionUpdate = { readonly sessionId: string } & (
  | { readonly kind: "attached"; readonly result: AttachResult }
  | { readonly kind: "event"; readonly message: EventMessage }
  | { readonly kind: "connection"; readonly connected: boolean; readonly problem?: string }
  /** It was detached, or is no more. */
  | { readonly kind: "gone" }
);

interface Entry {
  view: SessionView;
  connected: boolean;
  problem?: string;
  attaching?: Promise<SessionView>;
  /** Events that came before the answer to attach. */
  early: EventMessage[];
  readonly backoff: Backoff;
  timer?: NodeJS.Timeout;
}

const currentKey = "sandboxAgent.session";

export class Sessions implements Disposable {
  private readonly entries = new Map<string, Entry>();
  private readonly updates = new EventEmitter<SessionUpdate>();
  private readonly currents = new EventEmitter<string | undefined>();
  private readonly listeners: Disposable[];
  readonly onUpdate = this.updates.event;
  readonly onDidChangeCurrent = this.currents.event;

  constructor(
    private readonly rpc: Rpc,
    /** Remembers the current session over a reload of the window. */
    private readonly memory: Pick<Memento, "get" | "update">,
    private readonly newBackoff: () => Backoff = () => new Backoff(1000, 30_000),
  ) {
    this.listeners = [
      rpc.onEvent((message) => this.take(message)),
      rpc.onState((state) => (state.kind === "ready" ? this.connectAll() : this.disconnectAll())),
    ];
  }

  /** The session that commands mean; it may not be attached yet. */
  get current(): string | undefined {
    return this.memory.get<string>(currentKey);
  }

  /** What is known of the current session. */
  get currentView(): SessionView | undefined {
    const id = this.current;
    return id === undefined ? undefined : this.get(id);
  }

  /** Makes a session the one that commands mean. */
  use(id: string | undefined): void {
    if (id === this.current) return;
    void this.memory.update(currentKey, id);
    this.currents.fire(id);
  }

  /** What is known of an attached session. */
  get(id: string): SessionView | undefined {
    const view = this.entries.get(id)?.view;
    return view?.session && view;
  }

  /** All attached sessions. */
  all(): SessionView[] {
    return [...this.entries.values()].map((entry) => entry.view).filter((view) => view.session);
  }

  /** Whether the events of a session flow, and why not. */
  connection(id: string): { connected: boolean; problem?: string } {
    const entry = this.entries.get(id);
    if (!entry) return { connected: false };
    return { connected: entry.connected, ...(entry.problem && { problem: entry.problem }) };
  }

  /** Attaches unless it is attached. Rejects with an RpcError. */
  async attach(id: string): Promise<SessionView> {
    let entry = this.entries.get(id);
    if (entry?.connected) return entry.view;
    if (!entry) {
      entry = { view: emptyView(id), connected: false, early: [], backoff: this.newBackoff() };
      this.entries.set(id, entry);
    }
    return this.connect(entry);
  }

  /** Lets go of a session; it goes on by itself. */
  async detach(id: string): Promise<void> {
    if (!this.entries.has(id)) return;
    this.forget(id);
    await this.rpc.request("detach", { sessionId: id });
  }

  /** Forgets a session that is no more. */
  forget(id: string): void {
    clearTimeout(this.entries.get(id)?.timer);
    if (this.entries.delete(id)) this.updates.fire({ sessionId: id, kind: "gone" });
    if (this.current === id) this.use(undefined);
  }

  dispose(): void {
    for (const entry of this.entries.values()) clearTimeout(entry.timer);
    for (const listener of this.listeners) listener.dispose();
    this.entries.clear();
    this.updates.dispose();
    this.currents.dispose();
  }

  private connect(entry: Entry, from?: "start"): Promise<SessionView> {
    clearTimeout(entry.timer);
    entry.attaching ??= this.ask(entry, from).finally(() => delete entry.attaching);
    return entry.attaching;
  }

  private async ask(entry: Entry, from?: "start"): Promise<SessionView> {
    const { id, session, seq } = entry.view;
    entry.early = [];
    try {
      const known = session && from !== "start";
      const result = await this.rpc.request("attach", { sessionId: id, ...(known && { afterSeq: seq }) });
      if (this.entries.get(id) !== entry) return entry.view; // it was let go meanwhile
      this.attached(entry, result);
    } catch (thrown) {
      this.failed(entry, rpcError(thrown));
      throw thrown;
    }
    // What the answer did not bring is lost to those who ask for what followed; only a snapshot has it.
    return entry.view.missed && from !== "start" ? this.ask(entry, "start") : entry.view;
  }

  private attached(entry: Entry, result: AttachResult): void {
    const sessionId = entry.view.id;
    entry.view = attached(entry.view, result);
    entry.connected = true;
    delete entry.problem;
    entry.backoff.healthy();
    this.updates.fire({ sessionId, kind: "attached", result });
    this.updates.fire({ sessionId, kind: "connection", connected: true });
    const early = entry.early;
    entry.early = [];
    for (const message of early) this.apply(entry, message);
  }

  private failed(entry: Entry, error: RpcError): void {
    const { id, session } = entry.view;
    if (this.entries.get(id) !== entry) return;
    if (error.code === "notFound" || !session) {
      this.forgetFailed(id, error);
      return;
    }
    this.disconnect(entry, error.advice);
    if (error.code === "exited" || error.code === "missing") return; // it attaches when the next server is ready
    entry.timer = setTimeout(() => this.reconnect(entry), entry.backoff.pause());
  }

  /** One that was never seen keeps its place as the current session unless it is no more. */
  private forgetFailed(id: string, error: RpcError): void {
    if (error.code === "notFound") this.forget(id);
    else this.entries.delete(id);
  }

  private reconnect(entry: Entry): void {
    this.connect(entry).catch(() => undefined); // the update tells of it
  }

  private connectAll(): void {
    for (const entry of this.entries.values()) this.reconnect(entry);
  }

  private disconnectAll(): void {
    const { state } = this.rpc;
    const problem = "problem" in state ? advice(state.problem) : undefined;
    const again = state.kind === "starting"; // until it is there, what was wrong still is
    for (const entry of this.entries.values()) this.disconnect(entry, again ? entry.problem : problem);
  }

  private disconnect(entry: Entry, problem: string | undefined): void {
    entry.connected = false;
    if (problem === undefined) delete entry.problem;
    else entry.problem = problem;
    const sessionId = entry.view.id;
    this.updates.fire({ sessionId, kind: "connection", connected: false, ...(problem && { problem }) });
  }

  private take(message: EventMessage): void {
    const entry = this.entries.get(message.sessionId);
    if (!entry) return;
    if (entry.attaching) entry.early.push(message);
    else if (entry.connected) this.apply(entry, message);
  }

  private apply(entry: Entry, message: EventMessage): void {
    const before = entry.view;
    entry.view = applied(before, message);
    if (entry.view !== before) this.updates.fire({ sessionId: before.id, kind: "event", message });
    if (entry.view.missed && !before.missed) this.reconnect(entry);
    if (entry.view.state.status === "destroyed") this.forget(before.id);
  }
}
