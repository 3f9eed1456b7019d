// This file stands between the worker and its model and notes when what passes.
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** Milliseconds since 1970, with a fraction: the same clock in all processes. */
export const now = (): number => performance.timeOrigin + performance.now();

/** Wire is one such place. */
export class Wire {
  /** When requests for answers came. */
  readonly asked: number[] = [];
  /** When words that end in "." went to the worker. */
  readonly said = new Map<string, number>();

  /** Begins to listen, and returns the address to use for the model. */
  async before(models: string): Promise<string> {
    const { port, pathname } = new URL(models);
    const server = createServer((from, to) => this.#pass(from, to, Number(port)));
    server.listen(0, "127.0.0.1").unref();
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`;
  }

  #pass(from: IncomingMessage, to: ServerResponse, port: number): void {
    if (from.method === "POST") {
      this.asked.push(now());
    }
    const { method, url: path, headers } = from;
    const model = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on("data", (piece: Buffer) => {
        for (const [word] of piece.toString().matchAll(/\bw\d+\./g)) {
          if (!this.said.has(word)) {
            this.said.set(word, now());
          }
        }
        to.write(piece);
      });
      answer.on("end", () => to.end());
    });
    model.on("error", () => to.destroy());
    to.on("close", () => model.destroy());
    from.pipe(model);
  }
}
