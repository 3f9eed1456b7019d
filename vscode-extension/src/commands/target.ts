// Which session a command means.
import { l10n, type WorkspaceFolder } from "vscode";
import type { Session } from "../../../editors/protocol";
import { RpcError } from "../client/rpc";
import { config } from "../config";
import type { Ctx } from "../ctx";
import { folderUri, pickFolder } from "../folders";
import type { SessionView } from "../model/session";

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
  if (before) return before.id;
  const backend = config.backend();
  const session = await createSession(ctx, folderUri(folder), { ...(backend && { backend: { kind: backend } }) });
  return session.id;
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
