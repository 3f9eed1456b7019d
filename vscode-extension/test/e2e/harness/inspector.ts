// This file asks a running Node.js process about its memory, by its inspector.
import { once } from "node:events";
import { signal } from "./processes.ts";
import { until } from "./wait.ts";

type Answer = { id: number; result?: { usedSize?: number }; error?: { message: string } };

/** Inspector is a connection to one process. */
export class Inspector {
  readonly #socket: WebSocket;
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Has a process listen at the port that it was started with, and connects to it. */
  static async of(pid: number, port: number): Promise<Inspector> {
    signal(pid, "SIGUSR1");
    const address = await until(`the inspector of process ${pid}`, async () => {
      try {
        const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as Record<string, string>[];
        return targets[0]?.webSocketDebuggerUrl;
      } catch {
        return undefined; // it does not listen yet
      }
    });
    const socket = new WebSocket(address);
    await once(socket, "open");
    return new Inspector(socket);
  }

  /** The bytes of its heap that are in use after everything else was collected. */
  async heap(): Promise<number> {
    await this.#ask("HeapProfiler.collectGarbage");
    return (await this.#ask("Runtime.getHeapUsage"))?.usedSize ?? 0;
  }

  close(): void {
    this.#socket.close();
  }

  #ask(method: string): Promise<Answer["result"]> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const take = (event: MessageEvent): void => {
        const answer = JSON.parse(String(event.data)) as Answer;
        if (answer.id !== id) {
          return; // an event, or the answer to another question
        }
        this.#socket.removeEventListener("message", take);
        if (answer.error) {
          reject(new Error(`${method}: ${answer.error.message}`));
        } else {
          resolve(answer.result);
        }
      };
      this.#socket.addEventListener("message", take);
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }
}
