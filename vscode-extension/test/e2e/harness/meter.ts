// This file measures what the parts of one window take: its web view, its extension host and its server.
import { readFileSync } from "node:fs";
import type { CDPSession } from "playwright-core";
import { sessionOf } from "./apart.ts";
import { Inspector } from "./inspector.ts";
import type { World } from "./suite.ts";

/** What the parts take, in bytes but for nodes and listeners. */
export interface Taken {
  readonly view: number;
  readonly nodes: number;
  readonly listeners: number;
  readonly host: number;
  readonly server: number;
}

/** Meter measures one window. */
export class Meter {
  readonly #view: CDPSession;
  readonly #host: Inspector;
  readonly #world: World;

  private constructor(world: World, view: CDPSession, host: Inspector) {
    this.#world = world;
    this.#view = view;
    this.#host = host;
  }

  /** Begins to measure a window whose web view is shown. */
  static async of(world: World): Promise<Meter> {
    const { editor, window } = world;
    const host = await Inspector.of(editor.extensionHost(), editor.inspectPort);
    return new Meter(world, await sessionOf(window.page), host);
  }

  /** Measures after everything that can be was collected. */
  async take(): Promise<Taken> {
    for (let times = 0; times < 3; times++) {
      await this.#view.send("HeapProfiler.collectGarbage"); // what one collection frees may hold more
    }
    const { usedSize } = await this.#view.send("Runtime.getHeapUsage");
    const { nodes, jsEventListeners } = await this.#view.send("Memory.getDOMCounters");
    const [server] = this.#world.editor.servers();
    return {
      view: usedSize,
      nodes,
      listeners: jsEventListeners,
      host: await this.#host.heap(),
      server: server ? resident(server.pid) : 0,
    };
  }

  async close(): Promise<void> {
    this.#host.close();
    await this.#view.detach();
  }
}

function resident(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}

const mebi = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** What was measured, in a line. */
export function told({ view, nodes, listeners, host, server }: Taken): string {
  return `view ${mebi(view)} (${nodes} nodes, ${listeners} listeners), extension host ${mebi(host)}, server ${mebi(server)} resident`;
}
