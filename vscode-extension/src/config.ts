// The user's settings. Those that decide what runs, where it connects and what it may do are taken from the user only: their
// scope says so in package.json, and it is checked here, since a scope is a matter of the manifest and not of this code.
import { l10n, window, workspace, type ConfigurationScope, type Disposable } from "vscode";
import type { ApprovalMode, BackendKind } from "../../editors/protocol";
import type { Ctx } from "./ctx";
import { sayError } from "./say";

const section = "sandboxAgent";

/** The settings that no workspace may give. */
export const guarded = ["server.path", "server.environment", "backend", "approvalMode"] as const;

type Guarded = (typeof guarded)[number];

/** What of an inspected setting the user has given. */
export interface Inspected<T> {
  readonly defaultValue?: T;
  readonly globalValue?: T;
  readonly workspaceValue?: T;
  readonly workspaceFolderValue?: T;
}

/** The user's own value, whatever a workspace says. */
export function userValue<T>(inspected: Inspected<T> | undefined, fallback: T): T {
  return inspected?.globalValue ?? inspected?.defaultValue ?? fallback;
}

/** The guarded settings that a workspace tries to give, for a warning. */
export function attempted(): string[] {
  const configuration = workspace.getConfiguration(section);
  return guarded
    .filter((key) => {
      const found = configuration.inspect(key);
      return found?.workspaceValue !== undefined || found?.workspaceFolderValue !== undefined;
    })
    .map((key) => `${section}.${key}`);
}

function user<T>(key: Guarded, fallback: T): T {
  return userValue<T>(workspace.getConfiguration(section).inspect<T>(key), fallback);
}

function oneOf<T extends string>(value: string, values: readonly T[]): T | undefined {
  return values.find((known) => known === value);
}

/** Environment variables that hold secrets: they belong into the secret storage and are never taken from settings. */
const secret = /(_API_KEY|_TOKEN|_SECRET|PASSWORD)$/i;

export const config = {
  /** The program's path; "" to look for it. */
  serverPath: (): string => user("server.path", "").trim(),

  /** What is added to the environment of the programs; without secrets. */
  serverEnvironment(): Record<string, string> {
    const given = user<Record<string, unknown>>("server.environment", {});
    const taken = Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === "string");
    return Object.fromEntries(taken.filter(([name]) => !secret.test(name)));
  },

  /** The backend of new sessions; undefined for the program's default. */
  backend: (): BackendKind | undefined => oneOf(user("backend", ""), ["local", "docker", "e2b", "daytona"]),

  /** The approval mode of new sessions; undefined for the program's default. */
  approvalMode: (): ApprovalMode | undefined => oneOf(user("approvalMode", ""), ["ask", "auto", "never", "readOnly"]),

  /** The model of new sessions of a folder; "" for the program's default. */
  model: (scope?: ConfigurationScope): string => workspace.getConfiguration(section, scope).get("model", "").trim(),

  /** Whether to tell of approvals and ended turns while the conversation is hidden. */
  notifications: (): "approvals" | "approvalsAndTurns" | "off" =>
    oneOf(workspace.getConfiguration(section).get("notifications", ""), ["approvalsAndTurns", "off"]) ?? "approvals",
};

/** Tells of a workspace that tries to decide what is the user's, and has the server start anew when its settings change. */
export function watchConfig(ctx: Pick<Ctx, "log" | "server">): Disposable[] {
  const warn = (): void => {
    const tried = attempted();
    if (tried.length > 0) ctx.log.warn(`ignored, since a workspace must not set it: ${tried.join(", ")}`);
  };
  warn();
  return [
    workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration(section)) return;
      warn();
      if (!change.affectsConfiguration(`${section}.server`)) return;
      ctx.server.restart().catch(sayError);
      if (!change.affectsConfiguration(`${section}.server.environment`)) return;
      void window.showInformationMessage(
        l10n.t("The environment holds for the worker when it is started the next time: sandbox-agent worker stop"),
      );
    }),
  ];
}
