// Which session a command means.
import { l10n, window, workspace, type Uri, type WorkspaceFolder } from "vscode";
import type { Session } from "../../../editors/protocol";
import { RpcError } from "../client/rpc";
import { config } from "../config";
import type { Ctx } from "../ctx";
import { folderUri, pickFolder } from "../folders";
import type { SessionView } from "../model/session";
import { description, title } from "../sessions/tree";

/** Sessions to choose from, the latest first. */
const mostOffered = 20;

/** What a command may be called with: by the tree, the webview, a key binding. */
export interface Target {
  readonly sessionId?: string;
}

/** The session that an argument names, if it names one. */
export function named(argument: unknown): string | undefined {
  if (typeof argument !== "object" || argument === null || !("sessionId" in argument)) return undefined;
  return typeof argument.sessionId === "string" ? argument.sessionId : undefined;
}

/** A text that an argument brings, such as a title; undefined if the user is to be asked. */
export function given(argument: unknown, key: string): string | undefined {
  if (typeof argument !== "object" || argument === null) return undefined;
  const value = (argument as Record<string, unknown>)[key];
  return typeof value === "string" ? value : undefined;
}

/** Attaches to the session that is meant: the named one, else the current one, else the latest of the folder. */
export async function target(ctx: Ctx, argument?: unknown): Promise<SessionView & { readonly session: Session }> {
  const view = (await existing(ctx, argument)) ?? (await latest(ctx, await pickFolder()));
  if (view) return view;
  throw new RpcError(
    "notFound",
    l10n.t("This folder has no session yet."),
    l10n.t("Begin one with “Sandbox Agent: Ask…”."),
  );
}

/** The session that a question goes to: the one that is meant, else a new one with the user's settings. */
export async function targetOrNew(ctx: Ctx, argument?: unknown): Promise<string | undefined> {
  const view = await existing(ctx, argument);
  if (view) return view.id;
  const folder = await pickFolder();
  if (!folder) return undefined;
  const before = await latest(ctx, folder);
  return before?.id ?? (await begun(ctx, folder)).id;
}

/**
 * The session that a question about a document goes to: the one that is named, else the current one if it works where the
 * document is, else one of the document's folder. With several of those the user chooses; undefined when none is chosen.
 */
export async function targetFor(ctx: Ctx, argument: unknown, document: Uri): Promise<string | undefined> {
  const view = await existing(ctx, argument);
  if (view && (named(argument) !== undefined || within(document, view.session.workspaceFolder))) return view.id;
  const folder = workspace.getWorkspaceFolder(document);
  if (!folder) return targetOrNew(ctx, argument);
  const { sessions } = await ctx.rpc.request("sessions", { workspaceFolder: folderUri(folder), limit: mostOffered });
  const chosen = sessions.length > 1 ? await pickSession(folder, sessions) : (sessions[0] ?? "new");
  if (chosen === "new") return (await begun(ctx, folder)).id;
  return chosen?.id;
}

function within(document: Uri, folder: string): boolean {
  return document.toString().startsWith(`${folder.replace(/\/$/, "")}/`);
}

async function pickSession(
  folder: WorkspaceFolder,
  sessions: readonly Session[],
): Promise<Session | "new" | undefined> {
  const now = Date.now();
  const rows: { label: string; description: string; value: Session | "new" }[] = sessions.map((value) => ({
    label: title(value),
    description: description(value, now),
    value,
  }));
  rows.push({ label: `$(add) ${l10n.t("New session")}`, description: "", value: "new" });
  const placeHolder = l10n.t("Which session of the folder {0} shall be asked?", folder.name);
  return (await window.showQuickPick(rows, { placeHolder, matchOnDescription: true }))?.value;
}

/** A new session of a folder, where the user's settings say. */
function begun(ctx: Ctx, folder: WorkspaceFolder): Promise<Session> {
  const backend = config.backend();
  return createSession(ctx, folderUri(folder), { ...(backend && { backend: { kind: backend } }) });
}

/** Makes a session with the user's settings, and makes it the current one. */
export async function createSession(
  ctx: Ctx,
  workspaceFolder: string,
  wanted: { backend?: Session["backend"]; title?: string; model?: string },
): Promise<Session> {
  const model = wanted.model || config.model();
  const approvalMode = config.approvalMode();
  const { session } = await ctx.rpc.request("new", {
    requestId: crypto.randomUUID(),
    workspaceFolder,
    ...(wanted.backend && { backend: wanted.backend }),
    ...(wanted.title && { title: wanted.title }),
    ...(model && { model }),
    ...(approvalMode && { approvalMode }),
  });
  await ctx.sessions.attach(session.id);
  ctx.sessions.use(session.id);
  void ctx.listing.refresh();
  return session;
}

/** The session that an argument names, else the current one. */
async function existing(ctx: Ctx, argument: unknown): Promise<(SessionView & { session: Session }) | undefined> {
  const id = named(argument);
  return id === undefined ? current(ctx) : withSession(await ctx.sessions.attach(id));
}

/** The current session, unless it is no more. */
async function current(ctx: Ctx): Promise<(SessionView & { session: Session }) | undefined> {
  const id = ctx.sessions.current;
  if (id === undefined) return undefined;
  try {
    return withSession(await ctx.sessions.attach(id));
  } catch (thrown) {
    if (thrown instanceof RpcError && thrown.code === "notFound") return undefined;
    throw thrown;
  }
}

async function latest(
  ctx: Ctx,
  folder: WorkspaceFolder | undefined,
): Promise<(SessionView & { session: Session }) | undefined> {
  if (!folder) throw new RpcError("cancelled", l10n.t("No folder was chosen."));
  const { sessions } = await ctx.rpc.request("sessions", { workspaceFolder: folderUri(folder), limit: 1 });
  const [first] = sessions;
  if (!first) return undefined;
  const view = await ctx.sessions.attach(first.id);
  ctx.sessions.use(first.id);
  return withSession(view);
}

function withSession(view: SessionView): SessionView & { readonly session: Session } {
  if (!view.session) throw new RpcError("internal", l10n.t("The session {0} is not known.", view.id));
  return { ...view, session: view.session };
}
