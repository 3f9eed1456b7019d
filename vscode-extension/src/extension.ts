// The entry: registers commands and views and starts nothing; the server starts when one of them needs it.
import { type ExtensionContext } from "vscode";
import { protocolVersion } from "../../editors/protocol";
import { findProgram, isProgram } from "./client/binary";
import { rpcError, RpcError } from "./client/rpc";
import { Supervisor, type Connect } from "./client/supervisor";
import { registerChat } from "./chat";
import { registerReports } from "./commands/report";
import { registerCommands } from "./commands/table";
import { config, watchConfig } from "./config";
import { followContext } from "./context";
import { registerConversation } from "./conversation/provider";
import type { Base, Ctx } from "./ctx";
import { openLog } from "./log";
import { registerNotifications } from "./notify";
import { Obstacles } from "./obstacles";
import { registerReview } from "./review/register";
import { Secrets } from "./secrets";
import { registerApprovalsView } from "./sessions/approvals";
import { Listing } from "./sessions/listing";
import { Sessions } from "./sessions/sessions";
import { registerSessionsView } from "./sessions/view";
import { Waiting } from "./sessions/waiting";
import { registerStatus } from "./status";
import { trusting } from "./trust";
import { warnOfVersion } from "./version";

let server: Supervisor | undefined;

export function activate(extension: ExtensionContext): void {
  const log = openLog();
  server = new Supervisor(starter(extension, log));
  const obstacles = new Obstacles(server, () => config.model());
  const rpc = trusting(server, obstacles);
  const sessions = new Sessions(rpc, extension.workspaceState);
  const listing = new Listing(rpc, sessions, (thrown) => log.warn(`listing the sessions: ${rpcError(thrown).advice}`));
  const ctx = complete({
    extension,
    log,
    rpc,
    server,
    sessions,
    listing,
    waiting: new Waiting(sessions, listing),
    obstacles,
    secrets: new Secrets(extension.secrets, rpc, log, () => void obstacles.refresh().catch(() => undefined)),
  });
  extension.subscriptions.push(
    log,
    ctx.conversation,
    ctx.review,
    ctx.waiting,
    ctx.secrets,
    listing,
    sessions,
    obstacles,
    registerReports(),
    ...registerCommands(ctx),
    ...registerSessionsView(ctx),
    ...registerApprovalsView(ctx),
    ...registerStatus(ctx),
    ...registerNotifications(ctx),
    ...registerChat(ctx),
    ...followContext(ctx),
    ...watchConfig(ctx),
    warnOfVersion(server, protocolVersion),
  );
  obstacles.begin();
}

/** Ends the server; sessions and turns go on. */
export async function deactivate(): Promise<void> {
  await server?.close();
}

/** Finds the program and starts it, with what the user's settings are at that time. */
function starter(extension: ExtensionContext, log: Ctx["log"]): Connect {
  return async (listener) => {
    const program = findProgram({
      setting: config.serverPath(),
      extension: extension.extensionPath,
      path: process.env.PATH ?? "",
      windows: process.platform === "win32",
    });
    if (!isProgram(program)) throw new RpcError("missing", program.message, program.remedy);
    const { connect } = await import("./client/language"); // most of the code, and not needed to begin with
    const settings = (): unknown => ({ model: config.model(), approvalMode: config.approvalMode() ?? "" });
    return connect({ program: program.path, environment: config.serverEnvironment(), settings }, log, listener);
  };
}

/** Makes the parts that are given everything, themselves included. */
function complete(base: Base): Ctx {
  const ctx = base as Base & Pick<Mutable<Ctx>, "conversation" | "review">;
  ctx.review = registerReview(ctx);
  ctx.conversation = registerConversation(ctx);
  return ctx;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
