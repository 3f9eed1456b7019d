// Sends a request that waits to the running turn instead. That is two acts, taking back and sending: what is between them is
// remembered until both are done, so that the text is neither lost nor sent twice, whatever ends in between.
import type { Memento } from "vscode";
import { rpcError, RpcError, type Rpc } from "../client/rpc";

const key = "sandboxAgent.steering";

/** A request on its way from the queue to the turn, with an id for each act. */
interface Moving {
  readonly sessionId: string;
  readonly itemId: string;
  readonly turnId: number;
  readonly text: string;
  readonly id: string;
}

/** A request that nobody takes any more: its text goes back to who wrote it. */
export class Stranded extends RpcError {
  constructor(
    { code, message, remedy }: RpcError,
    readonly text: string,
  ) {
    super(code, message, remedy);
  }
}

/** What the server refuses it will refuse again; what it could not hear may be said again. */
function refused(thrown: unknown): boolean {
  return !["exited", "missing", "temporalUnavailable", "workerUnavailable", "busy", "internal", "cancelled"].includes(
    rpcError(thrown).code,
  );
}

export class Steering {
  constructor(
    private readonly rpc: Rpc,
    private readonly memory: Pick<Memento, "get" | "update">,
  ) {}

  /** Sends a request to the turn; tells whether it waits again, because that turn has ended. */
  async now(sessionId: string, itemId: string, turnId: number, text: string): Promise<{ queued: boolean }> {
    const moving = { sessionId, itemId, turnId, text, id: crypto.randomUUID() };
    await this.memory.update(key, [...this.left(), moving]);
    return this.finish(moving);
  }

  /** Does what was begun before the window was closed. */
  async resume(): Promise<void> {
    for (const moving of this.left()) await this.finish(moving);
  }

  private left(): readonly Moving[] {
    return this.memory.get<readonly Moving[]>(key) ?? [];
  }

  private async finish(moving: Moving): Promise<{ queued: boolean }> {
    const { sessionId, itemId, id } = moving;
    try {
      await this.rpc.request("queue", { requestId: `${id}-1`, sessionId, op: "remove", itemId });
    } catch (thrown) {
      if (refused(thrown)) await this.forget(moving); // its turn has begun, or somebody else took it
      throw thrown;
    }
    const answer = await this.send(moving);
    await this.forget(moving);
    return answer;
  }

  private async send(moving: Moving): Promise<{ queued: boolean }> {
    const { sessionId, turnId, text, id } = moving;
    try {
      await this.rpc.request("steer", { requestId: `${id}-2`, sessionId, expectedTurnId: turnId, text });
      return { queued: false };
    } catch (thrown) {
      if (!refused(thrown)) throw thrown;
    }
    try {
      return await this.rpc.request("ask", { requestId: `${id}-3`, sessionId, text });
    } catch (thrown) {
      if (!refused(thrown)) throw thrown;
      await this.forget(moving);
      throw new Stranded(rpcError(thrown), text);
    }
  }

  private async forget({ id }: Moving): Promise<void> {
    await this.memory.update(
      key,
      this.left().filter((other) => other.id !== id),
    );
  }
}
