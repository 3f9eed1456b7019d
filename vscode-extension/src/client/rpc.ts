// What the extension asks of the server, whoever stands behind it: the language client here, a double in tests.
import type { CancellationToken, Event } from "vscode";
import type {
  Capabilities,
  Code,
  CommandName,
  ErrorData,
  EventMessage,
  Params,
  Result,
} from "../../../editors/protocol";
import { advice } from "../model/text";

/** Why the server is not there, for people. */
export interface Problem {
  readonly message: string;
  readonly remedy?: string;
}

/** How far the server is. */
export type ServerState =
  | { readonly kind: "stopped" }
  | { readonly kind: "starting" }
  | { readonly kind: "ready"; readonly capabilities: Capabilities }
  /** It ended and is started again after a pause. */
  | { readonly kind: "waiting"; readonly problem: Problem; readonly pause: number }
  /** It cannot be started; the next request tries again. */
  | { readonly kind: "failed"; readonly problem: Problem };

/** The commands and events of the contract. Requests start the server when it is not there. */
export interface Rpc {
  /**
   * Sends a command as soon as the server is ready. When the server ends before it has answered, the call fails with "exited",
   * but for one with a requestId: repeating that changes nothing that has been changed, so the next server is asked.
   * @throws RpcError
   */
  request<C extends CommandName>(command: C, params: Params<C>, token?: CancellationToken): Promise<Result<C>>;
  readonly onEvent: Event<EventMessage>;
  readonly onState: Event<ServerState>;
  readonly state: ServerState;
}

/** The codes of failed calls: those of the contract, and ours: the server ended, cannot be started, or the folder is not trusted. */
export type RpcCode = Code | "exited" | "missing" | "untrusted";

/** A failed call: one sentence, and what to do about it. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(
    readonly code: RpcCode,
    message: string,
    readonly remedy?: string,
    readonly retryable = false,
  ) {
    super(message);
  }

  /** The sentence with its remedy. */
  get advice(): string {
    return advice(this);
  }
}

/** Makes an RpcError of what a call has thrown. */
export function rpcError(thrown: unknown): RpcError {
  if (thrown instanceof RpcError) return thrown;
  if (!(thrown instanceof Error)) return new RpcError("internal", String(thrown));
  const data = (thrown as { data?: Partial<ErrorData> | null }).data;
  return new RpcError(data?.code ?? "internal", thrown.message, data?.remedy, data?.retryable ?? false);
}
