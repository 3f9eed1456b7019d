// The commands that bring a workspace somewhere: switch, fork, adopt; and the window of a fork.
import { commands, l10n, Uri, window } from "vscode";
import type { AdoptResult, Backend, Carry, Session, SwitchResult } from "../../../editors/protocol";
import { RpcError } from "../client/rpc";
import type { Ctx } from "../ctx";
import { backendText, sentence } from "../model/text";
import { sayInfo, sayOffer } from "../say";
import { title } from "../sessions/tree";
import { carryOut, type Carried } from "./carry";
import { outcome, summary } from "./carrytext";
import { pickBackend } from "./picks";
import { withProgress } from "./progress";
import { restoreTo } from "./checkpoints";
import { titleProblem } from "./sessions";
import { createSession, given, target } from "./target";
import { folderUri, pickFolder } from "../folders";
import { config } from "../config";

/** Makes a session, of a folder and where the user says. */
export async function newSession(ctx: Ctx, argument?: unknown): Promise<void> {
  const folder = await pickFolder();
  if (!folder) return;
  const kind = config.backend();
  const backend = kind ? { kind } : await pickBackend(ctx, undefined, l10n.t("Where shall the new session run?"));
  if (!backend) return;
  const model = given(argument, "model");
  const newTitle = given(argument, "title");
  const session = await withProgress(ctx, l10n.t("Making a session…"), undefined, () =>
    createSession(ctx, folderUri(folder), { backend, ...(model && { model }), ...(newTitle && { title: newTitle }) }),
  );
  await ctx.conversation.reveal(session.id);
  await ctx.conversation.focusInput();
}

/** Moves a session, after it has shown what goes along. */
export async function switchBackend(ctx: Ctx, argument?: unknown, to?: Backend): Promise<void> {
  const { session } = await target(ctx, argument);
  const backend = to ?? (await pickBackend(ctx, session, l10n.t("Where shall “{0}” run?", title(session))));
  if (!backend) return;
  const name = placeText(backend);
  const intoNonEmpty = backend.workspaceRoot !== undefined;
  if (backend.workspaceRoot !== undefined && !(await consents(backend.workspaceRoot))) return;
  const carried = await carryOut<SwitchResult>(ctx, {
    sessionId: session.id,
    question: l10n.t("Switch “{0}” to {1}?", title(session), name),
    verb: l10n.t("Switch"),
    looking: l10n.t("Looking what goes along to {0}…", name),
    doing: l10n.t("Switching to {0}…", name),
    sides: (preview) =>
      Promise.resolve({
        from: session,
        to: { ...session, backend: preview.backend },
        there: l10n.t("the folder"),
        keep: l10n.t("Keep the Folder’s"),
        comes: l10n.t("the session"),
        take: l10n.t("Take the Session’s"),
      }),
    run: (options, token) =>
      ctx.rpc.request(
        "switch",
        { sessionId: session.id, backend, ...(intoNonEmpty && { intoNonEmpty }), ...options },
        token,
      ),
  });
  if (!carried) return;
  const { queued, afterTurnId, carry } = carried.result;
  if (queued) sayInfo(l10n.t("It moves to {0} when turn {1} has ended.", name, afterTurnId ?? session.turnId));
  else tellDone(ctx, l10n.t("It runs in {0} now: {1}.", name, summary(carry)), carried);
}

function placeText(backend: Backend): string {
  const kind = backend.kind === "local" ? l10n.t("the local folder") : backendText(backend.kind);
  return backend.image || backend.workspaceRoot || kind;
}

/** Files of the target that are not in the session stay beside those that come; the user has to know. */
async function consents(folder: string): Promise<boolean> {
  const yes = l10n.t("Go On");
  const detail = l10n.t(
    "Files that are there stay, and those of the session come among them. Nothing is overwritten unasked.",
  );
  return (
    (await window.showWarningMessage(l10n.t("Carry the session into {0}?", folder), { modal: true, detail }, yes)) ===
    yes
  );
}

/** Makes a session that goes on from the end of a turn of another one. */
export async function forkSession(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  const newTitle = given(argument, "title") ?? (await askTitle(session));
  if (newTitle === undefined) return;
  const turnId = turnOf(argument);
  const requestId = crypto.randomUUID();
  const { session: fork, notice } = await withProgress(ctx, l10n.t("Forking “{0}”…", title(session)), session.id, () =>
    ctx.rpc.request("fork", {
      requestId,
      sessionId: session.id,
      ...(newTitle.trim() && { title: newTitle.trim() }),
      ...(turnId !== undefined && { turnId }),
    }),
  );
  await ctx.sessions.attach(fork.id);
  await ctx.conversation.reveal(fork.id);
  if (notice) sayInfo(sentence(notice));
  void ctx.listing.refresh();
}

function askTitle(session: Session): Thenable<string | undefined> {
  return window.showInputBox({
    prompt: l10n.t("Title of the fork; empty: made from “{0}”", title(session)),
    placeHolder: l10n.t("Another way"),
    validateInput: titleProblem,
  });
}

function turnOf(argument: unknown): number | undefined {
  if (typeof argument !== "object" || argument === null || !("turnId" in argument)) return undefined;
  return typeof argument.turnId === "number" ? argument.turnId : undefined;
}

/** Brings what a fork changed into its parent's workspace, after it has shown what that is. */
export async function adoptFork(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  if (!session.parentId) {
    sayInfo(l10n.t("“{0}” is no fork; choose one of the tree of sessions.", title(session)));
    return;
  }
  const carried = await carryOut<AdoptResult>(ctx, {
    sessionId: session.id,
    question: l10n.t("Adopt what “{0}” has changed?", title(session)),
    verb: l10n.t("Adopt"),
    looking: l10n.t("Looking what the fork has changed…"),
    doing: l10n.t("Adopting the fork…"),
    sides: async (preview) => ({
      from: session,
      to: (await target(ctx, preview)).session,
      there: l10n.t("the parent"),
      keep: l10n.t("Keep the Parent’s"),
      comes: l10n.t("the fork"),
      take: l10n.t("Take the Fork’s"),
    }),
    run: (options, token) => ctx.rpc.request("adopt", { sessionId: session.id, ...options }, token),
  });
  if (!carried) return;
  const { to, result } = carried;
  tellDone(ctx, l10n.t("“{0}” has it: {1}.", title(to), summary(result.carry)), carried);
}

/** Tells what was done, and offers to compare what both sides had changed, and to undo it. */
function tellDone(
  ctx: Ctx,
  text: string,
  { result, to, replaced, compare }: Carried<{ carry: Carry; undo?: string }>,
): void {
  void ctx.listing.refresh();
  const told = [text, ...outcome(result.carry, replaced)].join(" ");
  const { undo } = result;
  sayOffer(told, {
    ...(compare && { [l10n.t("Compare")]: compare }),
    ...(undo && { [l10n.t("Undo")]: () => restoreTo(ctx, to, undo) }),
  });
}

/** Opens the folder of a fork that runs locally. */
export async function openFork(ctx: Ctx, argument?: unknown): Promise<void> {
  const { session } = await target(ctx, argument);
  const { kind, workspaceRoot } = session.backend;
  if (kind !== "local" || !workspaceRoot) {
    const reason =
      kind === "local"
        ? l10n.t("“{0}” works in the folder {1} itself.", title(session), Uri.parse(session.workspaceFolder).fsPath)
        : l10n.t("“{0}” works in {1}, where no window can be opened.", title(session), backendText(kind));
    throw new RpcError(
      "unsupported",
      reason,
      kind === "local" ? undefined : l10n.t("Switch it to the local folder first."),
    );
  }
  await commands.executeCommand("vscode.openFolder", Uri.file(workspaceRoot), { forceNewWindow: true });
}
