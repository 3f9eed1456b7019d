// One running server, spoken to by vscode-languageclient.
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { homedir } from "node:os";
import type { CancellationToken, LogOutputChannel } from "vscode";
import {
  CloseAction,
  ErrorAction,
  ErrorCodes,
  LanguageClient,
  ResponseError,
  RevealOutputChannelOn,
  State,
  type ChildProcessInfo,
  type LanguageClientOptions,
} from "./languageclient";
import {
  eventMethod,
  methods,
  type Capabilities,
  type CommandName,
  type EventMessage,
  type InitializationOptions,
  type Params,
  type Result,
} from "../../../editors/protocol";
import { documents } from "./documents";
import { advice } from "../model/text";
import { RpcError, rpcError, type Problem } from "./rpc";
import type { Connection, Listener } from "./supervisor";

/** What is started, and with which settings. */
export interface Launch {
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The answer to workspace/configuration. */
  readonly settings: () => unknown;
}

const startTime = 30_000; // ms that a server may take until it is ready
const stopTime = 2_000;
const exitTime = 500;
const lastWords = 2_000; // characters kept of its stderr

/** Starts the program and waits until it is ready. */
export async function connect(launch: Launch, log: LogOutputChannel, listener: Listener): Promise<Connection> {
  const server = new Process(launch);
  const client = new Client(launch, server, log, () => listener.ended(server.problem()));
  client.onNotification(eventMethod, (message: EventMessage) => listener.event(message));
  try {
    await withDeadline(client.start(), startTime);
  } catch (thrown) {
    const problem = server.spawnProblem ?? (await server.startProblem(thrown));
    server.kill();
    throw problem;
  }
  const capabilities = experimental(client.initializeResult?.capabilities);
  if (!capabilities) {
    await client.end(server);
    throw new RpcError(
      "unsupported",
      `${launch.program} is no server of Sandbox Agent.`,
      "Correct sandboxAgent.server.path.",
    );
  }
  log.info(`${launch.program} ${capabilities.version} is ready (process ${server.pid ?? "?"})`);
  return {
    capabilities,
    request: (command, params, token) => client.command(command, params, token),
    close: () => client.end(server),
  };
}

function experimental(capabilities: unknown): Capabilities | undefined {
  return (capabilities as { experimental?: { sandboxAgent?: Capabilities } } | undefined)?.experimental?.sandboxAgent;
}

function withDeadline(work: Promise<void>, time: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The server did not answer within ${time / 1000} s.`)), time);
  });
  return Promise.race([work, deadline]).finally(() => clearTimeout(timer));
}

/** The server's process: what it said last, and how it ended. */
class Process {
  private child: ChildProcessWithoutNullStreams | undefined;
  private said = "";
  private end: string | undefined;
  private exit: Promise<void> = Promise.resolve();
  spawnProblem: RpcError | undefined;

  constructor(private readonly launch: Launch) {}

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Starts it, in the home directory: a workspace's files must not be found by a relative name. */
  spawn(): Promise<ChildProcessInfo> {
    const env: NodeJS.ProcessEnv = { ...process.env, ...this.launch.environment };
    delete env.ELECTRON_RUN_AS_NODE; // made for extension hosts, not for what the agent's commands inherit
    const child = spawn(this.launch.program, ["lsp"], { cwd: homedir(), env, stdio: "pipe" });
    this.child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.said = (this.said + text).slice(-lastWords);
    });
    child.stdin.on("error", () => undefined); // a server that has gone is told by its exit
    this.exit = new Promise((resolve) => {
      child.on("exit", (code, signal) => {
        this.end = signal ? `signal ${signal}` : `status ${code ?? 0}`;
        resolve();
      });
    });
    return new Promise((resolve, reject) => {
      child.once("spawn", () => resolve({ process: child, detached: false }));
      child.once("error", (error) => {
        this.spawnProblem = new RpcError(
          "missing",
          `${this.launch.program} cannot be started: ${error.message}.`,
          "Correct the setting sandboxAgent.server.path.",
        );
        reject(this.spawnProblem);
      });
    });
  }

  /** Waits for its end, but not for long: one that closes its output and lives on is as good as gone. */
  exited(): Promise<void> {
    return withDeadline(this.exit, exitTime).catch(() => undefined);
  }

  problem(): Problem {
    const how = this.end ?? "its output ended";
    const last = this.said.trim().split("\n").at(-1);
    return { message: `The server ended (${how}).`, remedy: last ? `It said last: ${last}` : "See the log." };
  }

  async startProblem(thrown: unknown): Promise<RpcError> {
    await this.exited(); // its pipes close a moment before it is known how it ended
    if (this.end === undefined && !broken(thrown)) return rpcError(thrown);
    const { message, remedy } = this.problem();
    return new RpcError("exited", message, remedy);
  }

  kill(): void {
    this.child?.kill("SIGKILL");
  }
}

/** The errors that the connection makes, not the server. */
const connectionErrors: readonly number[] = [
  ErrorCodes.MessageWriteError,
  ErrorCodes.MessageReadError,
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
];

/** Whether a failure is the server's answer; else the connection broke. */
function answered(thrown: unknown): boolean {
  return thrown instanceof ResponseError && !broken(thrown);
}

/** Whether a failure says no more than that the connection broke. */
function broken(thrown: unknown): boolean {
  return thrown instanceof ResponseError && connectionErrors.includes(thrown.code);
}

/** The language client, quiet: what goes wrong is told by the state of the server, not by pop-ups of its own. */
class Client extends LanguageClient {
  constructor(launch: Launch, server: Process, log: LogOutputChannel, ended: () => void) {
    let ready = false;
    const initializationOptions: InitializationOptions = { clientName: "vscode", executeCommands: false };
    const options: LanguageClientOptions = {
      documentSelector: [{ scheme: "file" }],
      outputChannel: log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: async () => {
          await server.exited();
          if (ready) ended();
          return { action: CloseAction.DoNotRestart, handled: true, message: advice(server.problem()) };
        },
      },
      middleware: {
        ...documents(() => this),
        workspace: {
          // Only what is checked to be the user's own is told, whatever a workspace adds to the section.
          configuration: (params) => params.items.map(() => launch.settings()),
        },
      },
    };
    super("sandboxAgent", "Sandbox Agent", () => server.spawn(), options);
    this.onDidChangeState((change) => (ready ||= change.newState === State.Running));
  }

  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  /** Traces a message, but not the keys in it. */
  override trace(message: string, data?: unknown): void {
    super.trace(message, message.includes(methods.setSecret) ? undefined : data);
  }

  async command<C extends CommandName>(command: C, params: Params<C>, token?: CancellationToken): Promise<Result<C>> {
    if (!this.isRunning()) throw new RpcError("exited", "The server ended.", undefined, true);
    try {
      // A token that is undefined would be sent as one more parameter.
      return await (token
        ? this.sendRequest<Result<C>>(methods[command], params, token)
        : this.sendRequest<Result<C>>(methods[command], params));
    } catch (thrown) {
      throw answered(thrown)
        ? rpcError(thrown)
        : new RpcError("exited", "The server ended before it had answered.", undefined, true);
    }
  }

  async end(server: Process): Promise<void> {
    try {
      await this.stop(stopTime);
    } catch {
      server.kill(); // it does not react, or ended meanwhile
    }
  }
}
