// This file runs VS Code without a screen: code-server with settings, extensions and data of its own.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { closeSync, cpSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { required } from "./environment.ts";
import type { Installation } from "./installation.ts";
import { descendants, endGroup, type Process } from "./processes.ts";
import { until } from "./wait.ts";

/** Settings that keep VS Code quiet: nothing is asked, shown or fetched that no test wants. */
const quiet = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "workbench.reduceMotion": "on",
  "workbench.editor.enablePreview": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.colorTheme": "Default Dark Modern",
  "remote.autoForwardPorts": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "update.showReleaseNotes": false,
  "files.autoSave": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "git.enabled": false,
  "window.title": "${rootName}",
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
};

/** The extension whose model the chat of VS Code wants to have before it calls a participant. */
const fakeModel = join(import.meta.dirname, "../fakemodel");

/** The program of code-server; bin/code-server starts the same. */
const entry = "node_modules/code-server/out/node/entry.js";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Editor is a running code-server. */
export class Editor {
  readonly port: number;
  /** Where a process of it listens for an inspector after SIGUSR1. */
  readonly inspectPort: number;
  readonly #data: string;
  readonly #child: ChildProcess;
  readonly #log: number;

  private constructor(port: number, inspectPort: number, data: string, child: ChildProcess, log: number) {
    this.port = port;
    this.inspectPort = inspectPort;
    this.#data = data;
    this.#child = child;
    this.#log = log;
  }

  /**
   * Starts one within an installation and waits until it answers; with a chat, it has that and a model for it. Another program
   * may stand for sandbox-agent.
   */
  static async start(at: Installation, chat = false, agent?: string): Promise<Editor> {
    const data = join(at.home, "editor");
    const extensions = join(data, "extensions");
    mkdirSync(join(data, "User"), { recursive: true });
    mkdirSync(extensions);
    const settings = { ...quiet, "chat.disableAIFeatures": !chat };
    writeFileSync(join(data, "User", "settings.json"), JSON.stringify(settings));
    if (chat) cpSync(fakeModel, join(extensions, "sandbox-agent-test.fake-model-0.0.1"), { recursive: true });
    writeFileSync(join(data, "config.yaml"), "auth: none\n");
    const program = join(required("VSCODE"), "bin/code-server");
    const words = ["--user-data-dir", data, "--extensions-dir", extensions, "--config", join(data, "config.yaml")];
    const extension = required("EXTENSION");
    const environment = { ...at.env, EXTENSIONS_GALLERY: '{"serviceUrl":"","itemUrl":"","resourceUrlTemplate":""}' };
    if (extension.endsWith(".vsix")) {
      await promisify(execFile)(program, [...words, "--install-extension", extension], { env: environment });
    } else {
      copy(extension, extensions);
      agent ??= join(required("PROGRAMS"), "sandbox-agent");
    }
    if (agent) {
      mkdirSync(join(data, "Machine"), { recursive: true });
      writeFileSync(join(data, "Machine", "settings.json"), JSON.stringify({ "sandboxAgent.server.path": agent }));
    }
    const [port, inspectPort] = [await freePort(), await freePort()];
    const quietly = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--ignore-last-opened"];
    const log = openSync(join(data, "server.log"), "a");
    const node = [`--inspect-port=127.0.0.1:${inspectPort}`, join(required("VSCODE"), entry)];
    const child = spawn(
      process.execPath, // that Node.js is VS Code's
      [...node, ...words, "--bind-addr", `127.0.0.1:${port}`, "--disable-getting-started-override", ...quietly],
      { env: environment, stdio: ["ignore", log, log], detached: true },
    );
    const editor = new Editor(port, inspectPort, data, child, log);
    await until(
      () => `code-server's answer; it said:\n${editor.log()}`,
      () => editor.#answers(),
    );
    return editor;
  }

  async #answers(): Promise<boolean> {
    if (this.#child.exitCode !== null) {
      throw new Error(`code-server has ended:\n${this.log()}`);
    }
    try {
      return (await fetch(`http://127.0.0.1:${this.port}/healthz`)).ok;
    } catch {
      return false; // it does not listen yet
    }
  }

  /** The address of a window on a folder. */
  url(folder: string): string {
    return `http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(folder)}`;
  }

  /** The address of a window on the folders that a file of VS Code's lists. */
  workspaceUrl(file: string): string {
    return `http://127.0.0.1:${this.port}/?workspace=${encodeURIComponent(file)}`;
  }

  log(): string {
    return readFileSync(join(this.#data, "server.log"), "utf8");
  }

  /** What VS Code keeps of documents that are not saved. */
  backups(): string[] {
    const folder = join(this.#data, "User", "Backups");
    if (!existsSync(folder)) return [];
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return entries.filter((one) => one.isFile()).map((one) => readFileSync(join(one.parentPath, one.name), "utf8"));
  }

  /** Our server processes: one for each window. */
  servers(): Process[] {
    return descendants(this.#child.pid ?? 0).filter(
      ({ command }) => command[0]?.endsWith("/sandbox-agent") && command[1] === "lsp",
    );
  }

  /** The process that our extension runs in; there is one window. */
  extensionHost(): number {
    const host = descendants(this.#child.pid ?? 0).find(({ command }) => command.includes("--type=extensionHost"));
    if (!host) {
      throw new Error("there is no extension host");
    }
    return host.pid;
  }

  /** Ends it with all it has started. */
  async stop(): Promise<void> {
    await endGroup(this.#child.pid ?? 0);
    closeSync(this.#log);
  }
}

/** Makes what is built in a folder an installed extension, apart from what happens to the folder meanwhile. */
function copy(folder: string, extensions: string): void {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, string>;
  const installed = join(extensions, `${manifest.publisher}.${manifest.name}-${manifest.version}`);
  for (const part of ["package.json", "package.nls.json", "dist", "media", "l10n"]) {
    cpSync(join(folder, part), join(installed, part), { recursive: true });
  }
}
