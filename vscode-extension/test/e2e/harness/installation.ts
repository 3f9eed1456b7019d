// This file makes a private installation of Sandbox Agent with the programs in bin/ and a scripted model, and removes it.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { Session } from "../../../../editors/protocol.ts";
import { script } from "../script.ts";
import { required } from "./environment.ts";
import { signal, withEnvironment } from "./processes.ts";
import { until } from "./wait.ts";

const run = promisify(execFile);

/** What a user's own settings, keys and services would change. */
const foreign =
  /^(SANDBOX_AGENT_|SANDBOX_TEMPORAL_|SANDBOX_WORKER_|TEMPORAL_|OPENAI_|E2B_|DAYTONA_|VSCODE_|NODE_|npm_)/;

function environment(home: string, models: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return {
    ...Object.fromEntries(inherited),
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
    XDG_STATE_HOME: join(home, "state"),
    XDG_CACHE_HOME: join(home, "cache"),
    XDG_RUNTIME_DIR: join(home, "run"),
    TMPDIR: join(home, "tmp"),
    LANG: "C.UTF-8",
    OPENAI_BASE_URL: models,
    SANDBOX_AGENT_MODEL: "scripted",
    SANDBOX_AGENT_DOCKER_IMAGE: process.env.DOCKER_IMAGE ?? "",
  };
}

/** Installation is a home of its own with everything that runs for it. */
export class Installation {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #model: ChildProcess;

  private constructor(home: string, model: ChildProcess, models: string) {
    this.home = home;
    this.env = environment(home, models);
    this.#model = model;
  }

  /** Makes one and starts its model; what stands before the model returns an address of its own for the model's. */
  static async create(front = (models: string) => Promise.resolve(models)): Promise<Installation> {
    const home = mkdtempSync(join(tmpdir(), "home."));
    for (const name of ["config", "data", "state", "cache", "run", "tmp"]) {
      mkdirSync(join(home, name), { mode: 0o700 });
    }
    writeFileSync(join(home, "script.json"), JSON.stringify(script));
    const model = spawn(required("SCRIPTED_MODEL"), ["--script", join(home, "script.json")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface(model.stdout), "line")) as [string];
    const { baseURL } = JSON.parse(line) as { baseURL: string };
    return new Installation(home, model, await front(baseURL));
  }

  /** Makes a folder with these files. */
  folder(name: string, files: Record<string, string> = {}): string {
    const folder = join(this.home, name);
    for (const [path, content] of Object.entries({ ".keep": "", ...files })) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    return folder;
  }

  /** Runs sandbox-agent with --json and returns the objects it prints. */
  async agent(...words: string[]): Promise<unknown[]> {
    const program = join(required("PROGRAMS"), "sandbox-agent");
    const { stdout } = await run(program, [...words, "--json"], { env: this.env, maxBuffer: 64 << 20 });
    return stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown);
  }

  /** All sessions, newest first. */
  async sessions(): Promise<Session[]> {
    const lists = (await this.agent("sessions")) as { sessions: Session[] }[];
    return lists.flatMap((list) => list.sessions);
  }

  /** Ends the sessions with their sandboxes, the worker and the model, and removes everything. What is left running fails. */
  async remove(): Promise<void> {
    try {
      for (const session of await this.sessions()) {
        await this.agent("destroy", session.id);
      }
      await this.agent("worker", "stop");
    } finally {
      signal(this.#model.pid ?? 0, "SIGTERM");
      await this.#end();
      rmSync(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  }

  async #end(): Promise<void> {
    const left = () => withEnvironment("HOME", this.home);
    const names = () => left().map((process) => process.command.join(" "));
    try {
      await until(
        () => `the end of ${names().join(", ")}`,
        () => left().length === 0,
        20_000,
      );
    } catch (error) {
      left().forEach((process) => signal(process.pid, "SIGKILL"));
      throw error;
    }
  }
}
