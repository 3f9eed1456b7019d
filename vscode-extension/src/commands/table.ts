// The one table of commands, and how they are registered: what fails is told with what to do about it.
import { commands, type Disposable } from "vscode";
import type { Ctx } from "../ctx";
import { sayError } from "../say";
import * as approvals from "./approvals";
import * as asking from "./asking";
import * as checkpoints from "./checkpoints";
import * as inspecting from "./inspecting";
import * as installation from "./installation";
import { showMenu } from "./menu";
import * as moving from "./moving";
import * as sessions from "./sessions";
import { stopCommand } from "./stopping";

/** A command: called with what a view, a key binding or another extension gives it. */
export type Command = (ctx: Ctx, argument?: unknown) => Promise<void>;

/** By name without "sandboxAgent."; package.json declares the same ones. */
export const table: Readonly<Record<string, Command>> = {
  ask: asking.ask,
  askAboutSelection: asking.askAboutSelection,
  steer: asking.steer,
  queue: asking.queue,
  interrupt: asking.interrupt,
  stopCommand,
  newSession: moving.newSession,
  switchBackend: (ctx, argument) => moving.switchBackend(ctx, argument),
  forkSession: moving.forkSession,
  adoptFork: moving.adoptFork,
  openFork: moving.openFork,
  openSession: sessions.openSession,
  showSessions: sessions.showSessions,
  renameSession: sessions.renameSession,
  configureSession: sessions.configureSession,
  compact: sessions.compact,
  pause: sessions.pause,
  destroy: sessions.destroy,
  showDiff: checkpoints.showDiff,
  takeCheckpoint: checkpoints.takeCheckpoint,
  restoreCheckpoint: checkpoints.restoreCheckpoint,
  openApproval: approvals.openApproval,
  allowApproval: approvals.allowApproval,
  allowAlways: approvals.allowAlways,
  denyApproval: approvals.denyApproval,
  denyWithFeedback: approvals.denyWithFeedback,
  showRules: approvals.showRules,
  openPort: inspecting.openPort,
  showContext: inspecting.showContext,
  showMcpServers: inspecting.showMcpServers,
  doctor: installation.doctor,
  setApiKey: installation.setApiKey,
  showLogs: installation.showLogs,
  restartServer: installation.restartServer,
  reportIssue: installation.reportIssue,
  refreshSessions: (ctx) => ctx.listing.refresh(),
  showMenu,
};

/** Registers all commands. */
export function registerCommands(ctx: Ctx): Disposable[] {
  return Object.entries(table).map(([name, command]) =>
    commands.registerCommand(`sandboxAgent.${name}`, async (argument?: unknown) => {
      try {
        await command(ctx, argument);
      } catch (thrown) {
        const error = sayError(thrown);
        if (error.code !== "cancelled") ctx.log.warn(`${name}: ${error.code}: ${error.message}`);
      }
    }),
  );
}
