// A server that tests play: they say what it answers, see what it was asked, and send its events.
import { EventEmitter } from "vscode";
import type { Capabilities, CommandName, EventMessage, Params, Result } from "../../../editors/protocol";
import type { Rpc, ServerState } from "../../src/client/rpc";

export const capabilities: Capabilities = {
  version: "0.1.0",
  hostId: "h",
  limits: { messageBytes: 1 << 20, historyPage: 200, textBytes: 900_000, queue: 50 },
  backends: [],
  models: [],
  defaultBackend: "local",
  defaultModel: "demo",
};

type Answers = { [C in CommandName]?: (params: Params<C>) => Result<C> | Promise<Result<C>> };

export class FakeRpc implements Rpc {
  private readonly events = new EventEmitter<EventMessage>();
  private readonly states = new EventEmitter<ServerState>();
  readonly onEvent = this.events.event;
  readonly onState = this.states.event;
  state: ServerState = { kind: "stopped" };
  answers: Answers = {};
  readonly asked: { command: CommandName; params: object }[] = [];

  async request<C extends CommandName>(command: C, params: Params<C>): Promise<Result<C>> {
    this.asked.push({ command, params });
    const answer = this.answers[command] as ((params: Params<C>) => Result<C> | Promise<Result<C>>) | undefined;
    if (!answer) throw new Error(`nobody has said what ${command} answers`);
    return answer(params);
  }

  /** What was asked by one command. */
  of(command: CommandName): object[] {
    return this.asked.filter((one) => one.command === command).map((one) => one.params);
  }

  emit(message: EventMessage): void {
    this.events.fire(message);
  }

  become(state: ServerState): void {
    this.state = state;
    this.states.fire(state);
  }

  ready(): void {
    this.become({ kind: "ready", capabilities });
  }
}

/** Lets everything run that has been promised. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
