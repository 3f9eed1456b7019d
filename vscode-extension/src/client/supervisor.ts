// Keeps one server: starts it with the first request, starts it again after it ended, with growing pauses. It holds no truth:
// sessions attach again where they were.
import { EventEmitter, type CancellationToken } from "vscode";
import type { Capabilities, CommandName, EventMessage, Params, Result } from "../../../editors/protocol";
import { Backoff } from "./backoff";
import { RpcError, rpcError, type Problem, type Rpc, type ServerState } from "./rpc";

/** One running server. */
export interface Connection {
  readonly capabilities: Capabilities;
  request<C extends CommandName>(command: C, params: Params<C>, token?: CancellationToken): Promise<Result<C>>;
  /** Ends it; its sessions go on. */
  close(): Promise<void>;
}

/** What a connection tells of itself. */
export interface Listener {
  event(message: EventMessage): void;
  /** It ended without being asked to. Called at most once, and only after it was ready. */
  ended(problem: Problem): void;
}

/** Starts a server; rejects with an RpcError when it cannot be started. */
export type Connect = (listener: Listener) => Promise<Connection>;

/** A failed start that was one of many is tried again; this many in a row are given up until somebody asks. */
const patience = 8;
/** How long it may take from a broken connection to the news of it, in milliseconds. */
const knownTime = 2000;

export class Supervisor implements Rpc {
  private readonly events = new EventEmitter<EventMessage>();
  private readonly states = new EventEmitter<ServerState>();
  readonly onEvent = this.events.event;
  readonly onState = this.states.event;

  private now: ServerState = { kind: "stopped" };
  private starting: Promise<Connection> | undefined;
  private connection: Connection | undefined;
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;
  private closed = false;

  constructor(
    private readonly connect: Connect,
    private readonly backoff: Backoff = new Backoff(),
  ) {}

  get state(): ServerState {
    return this.now;
  }

  async request<C extends CommandName>(command: C, params: Params<C>, token?: CancellationToken): Promise<Result<C>> {
    const repeatable = "requestId" in params && Boolean(params.requestId);
    try {
      return await this.requestOnce(command, params, token);
    } catch (thrown) {
      if (!repeatable || rpcError(thrown).code !== "exited") throw thrown;
      return this.requestOnce(command, params, token);
    }
  }

  private async requestOnce<C extends CommandName>(
    command: C,
    params: Params<C>,
    token?: CancellationToken,
  ): Promise<Result<C>> {
    const connection = await this.start();
    try {
      return await connection.request(command, params, token);
    } catch (thrown) {
      const error = rpcError(thrown);
      if (error.code === "exited") await this.gone(connection);
      throw this.connection === connection ? error : this.exited();
    }
  }

  /** Waits until a broken connection is known to be one: what is asked next must not go to it. */
  private gone(connection: Connection): Promise<void> {
    if (this.connection !== connection) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        listening.dispose();
        resolve();
      };
      const timer = setTimeout(done, knownTime);
      const listening = this.onState(() => {
        if (this.connection !== connection) done();
      });
    });
  }

  /** Starts the server unless it is there. Rejects with an RpcError when it cannot be started. */
  start(): Promise<Connection> {
    if (this.closed) return Promise.reject(new RpcError("exited", "Sandbox Agent is being closed."));
    if (this.connection) return Promise.resolve(this.connection);
    clearTimeout(this.timer);
    this.starting ??= this.begin();
    return this.starting;
  }

  /** Ends the server and starts it anew, as when its settings have changed. A server that was not started stays so. */
  async restart(): Promise<void> {
    if (this.now.kind === "stopped") return;
    await this.end();
    this.backoff.reset();
    await this.start();
  }

  /** Ends the server for good; sessions and turns go on. */
  async close(): Promise<void> {
    this.closed = true;
    await this.end();
    this.events.dispose();
    this.states.dispose();
  }

  private async end(): Promise<void> {
    clearTimeout(this.timer);
    const connection = this.connection ?? (await this.starting?.catch(() => undefined));
    this.connection = undefined;
    this.set({ kind: "stopped" });
    await connection?.close();
  }

  private async begin(): Promise<Connection> {
    this.set({ kind: "starting" });
    const listener: Listener = {
      event: (message) => this.events.fire(message),
      ended: (problem) => this.ended(problem),
    };
    try {
      const connection = await this.connect(listener);
      this.connection = connection;
      this.failures = 0;
      this.backoff.healthy();
      this.set({ kind: "ready", capabilities: connection.capabilities });
      return connection;
    } catch (thrown) {
      throw this.failed(rpcError(thrown));
    } finally {
      this.starting = undefined;
    }
  }

  /** A start has failed. One after a crash is tried again for a while; the first one waits for the next request. */
  private failed(error: RpcError): RpcError {
    const problem: Problem = { message: error.message, ...(error.remedy && { remedy: error.remedy }) };
    if (this.failures > 0 && this.failures < patience && error.code !== "missing") {
      this.failures++;
      this.later(problem);
    } else {
      this.failures = 0;
      this.set({ kind: "failed", problem });
    }
    return error;
  }

  private ended(problem: Problem): void {
    this.connection = undefined;
    if (this.closed) return;
    this.failures = 1;
    this.later(problem);
  }

  private later(problem: Problem): void {
    const pause = this.backoff.pause();
    this.set({ kind: "waiting", problem, pause });
    this.timer = setTimeout(() => {
      this.start().catch(() => undefined); // the state tells of it
    }, pause);
  }

  private exited(): RpcError {
    const problem = this.now.kind === "waiting" || this.now.kind === "failed" ? this.now.problem : undefined;
    return new RpcError(
      "exited",
      problem?.message ?? "The server ended before it had answered.",
      problem?.remedy,
      true,
    );
  }

  private set(state: ServerState): void {
    this.now = state;
    this.states.fire(state);
  }
}
