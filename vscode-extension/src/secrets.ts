// The keys: kept in the secret storage of VS Code, handed to the worker, which has them in its memory only.
import type { Disposable, LogOutputChannel, SecretStorage } from "vscode";
import type { SetSecretParams } from "../../editors/protocol";
import { rpcError, type Rpc } from "./client/rpc";

/** The names of the keys. */
export type SecretName = SetSecretParams["name"];

/** All of them, in the order of their use. */
export const secretNames: readonly SecretName[] = ["OPENAI_API_KEY", "E2B_API_KEY", "DAYTONA_API_KEY"];

export class Secrets implements Disposable {
  private readonly listeners: Disposable[];

  constructor(
    private readonly storage: Pick<SecretStorage, "get" | "store" | "delete" | "onDidChange">,
    private readonly rpc: Rpc,
    private readonly log: Pick<LogOutputChannel, "warn">,
    /** Called when a worker has been given keys: it can use more models then. */
    private readonly given: () => void,
  ) {
    this.listeners = [
      rpc.onState((state) => {
        if (state.kind === "ready") void this.handOver();
      }),
    ];
  }

  /** Keeps a key and gives it to the worker; "" forgets it in both places. Rejects with an RpcError if the worker has it not. */
  async set(name: SecretName, value: string): Promise<void> {
    if (value === "") await this.storage.delete(name);
    else await this.storage.store(name, value);
    await this.rpc.request("setSecret", { name, value });
  }

  /** Whether there is a key of this name. */
  async has(name: SecretName): Promise<boolean> {
    return Boolean(await this.storage.get(name));
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  /** Gives the worker all keys; a new server may have a new worker. */
  private async handOver(): Promise<void> {
    let any = false;
    for (const name of secretNames) {
      const value = await this.storage.get(name);
      if (!value) continue;
      try {
        await this.rpc.request("setSecret", { name, value });
        any = true;
      } catch (thrown) {
        this.log.warn(`${name} could not be given to the worker: ${rpcError(thrown).message}`);
      }
    }
    if (any) this.given();
  }
}
