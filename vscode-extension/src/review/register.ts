// Reviewing what the agent has changed: the view, the diffs, and what is done about a change.
import { commands, Disposable, l10n, window, workspace } from "vscode";
import type { Checkpoint, Session } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import { registerOpening } from "../entries";
import { sayError, sayInfo } from "../say";
import { title as sessionTitle } from "../sessions/tree";
import { asChange, Changes, type Change, type Picture } from "./changes";
import { sameRow } from "./checkpoints";
import { bothSides, Files, onDisk, resourceOf, scheme } from "./files";
import { covers, firstChange, type Hunk } from "./hunks";
import { lineRange, sameUri, takeFileBack, takeHunkBack, tellAgent } from "./reject";
import { ChangesTree, viewId, type Node } from "./tree";

export interface Review {
  /** Opens all that differs between two checkpoints, by default the session's first and the files as they are now. */
  showDiff(session: Session, from?: string, to?: string): Promise<void>;
}

/** What a decision is about. */
interface Target {
  readonly change: Change;
  readonly hunk?: Hunk;
}

export function registerReview(ctx: Ctx): Review & Disposable {
  const changes = new Changes(ctx);
  const files = new Files(ctx.rpc, ctx.sessions);
  const tree = new ChangesTree(changes);
  const view = window.createTreeView(viewId, { treeDataProvider: tree });
  const showDiff = (session: Session, from?: string, to?: string): Promise<void> => openAll(ctx, session, from, to);

  const subscriptions: { dispose(): unknown }[] = [
    changes,
    files,
    tree,
    view,
    registerOpening(viewId, view, (node) => {
      const command = node.kind === "checkpoint" ? "compareWithCheckpoint" : "openChange";
      return commands.executeCommand(`sandboxAgent.${command}`, node);
    }),
    workspace.registerTextDocumentContentProvider(scheme, files),
    workspace.onDidCloseTextDocument(({ uri }) => {
      if (uri.scheme === scheme) files.closed(uri);
    }),
    view.onDidChangeVisibility(({ visible }) => changes.watch(visible)),
    changes.onDidChange(() => {
      describe(view, ctx, changes.picture);
      tellContext(changes.picture);
    }),
    ctx.sessions.onUpdate((update) => {
      if (update.kind === "event" && update.message.event.type === "session/updated")
        describe(view, ctx, changes.picture);
    }),
    window.onDidChangeActiveTextEditor(() => tellContext(changes.picture)),
  ];
  const register = (id: string, act: (node?: Node) => unknown): void => {
    const guarded = async (node?: Node): Promise<void> => {
      try {
        await act(node);
      } catch (thrown) {
        sayError(thrown);
      }
    };
    subscriptions.push(commands.registerCommand(`sandboxAgent.${id}`, guarded));
  };

  register("refreshChanges", () => changes.read());
  register("openChange", (node) => openChange(changes, targetOf(changes.picture, node)));
  register("openAllChanges", () => changes.picture && showDiff(changes.picture.session, changes.picture.base.id));
  register("acceptChange", (node) => accept(changes, targetOf(changes.picture, node)));
  register("withdrawAcceptance", (node) => {
    const target = targetOf(changes.picture, node);
    return target && changes.withdraw(idsOf(changes, target));
  });
  register("acceptAllChanges", () =>
    changes.accept(changes.picture?.changes.flatMap((change) => changes.ids(change)) ?? []),
  );
  register("rejectChange", (node) => reject(ctx, changes, targetOf(changes.picture, node), false));
  register("rejectWithFeedback", (node) => reject(ctx, changes, targetOf(changes.picture, node), true));
  register("compareWithCheckpoint", (node) =>
    changes.compareWith(node?.kind === "checkpoint" ? node.checkpoint : undefined),
  );
  register("compareWithStart", () => changes.compareWith(undefined));
  register("showCheckpoint", (node) => {
    const { picture } = changes;
    return picture && node?.kind === "checkpoint" && showDiff(picture.session, ...step(picture, node.checkpoint));
  });
  register("restoreThisCheckpoint", (node) => {
    if (!changes.picture || node?.kind !== "checkpoint") return;
    return commands.executeCommand("sandboxAgent.restoreCheckpoint", {
      sessionId: changes.picture.session.id,
      checkpointId: node.checkpoint.id,
    });
  });
  changes.watch(view.visible);
  return Object.assign(Disposable.from(...subscriptions), { showDiff });
}

/** What a command is about: what it was called on, else the change at the cursor. */
function targetOf(picture: Picture | undefined, node: Node | undefined): Target | undefined {
  if (node?.kind === "file") return { change: node.change };
  if (node?.kind === "hunk") return { change: node.change, hunk: node.hunk };
  const target = picture && atCursor(picture);
  if (!target) sayInfo(l10n.t("There is no change of the agent at the cursor. The view Changes lists them."));
  return target;
}

function atCursor(picture: Picture): Target | undefined {
  const editor = window.activeTextEditor;
  const change = editor && changeOf(picture, editor.document.uri);
  if (!change) return undefined;
  const line = editor.selection.active.line + 1;
  const hunk = change.hunks.find((one) => covers(one, line));
  if (hunk) return { change, hunk };
  return change.hunks.length === 0 ? { change } : undefined;
}

/** The change that an editor shows, on either side of a diff. */
function changeOf(picture: Picture, uri: Parameters<typeof sameUri>[0]): Change | undefined {
  return picture.changes.find(({ file }) => {
    const { left, right } = bothSides(picture.session, file, picture.base.id, undefined);
    return sameUri(right, uri) || sameUri(left, uri);
  });
}

function tellContext(picture: Picture | undefined): void {
  const uri = window.activeTextEditor?.document.uri;
  const shown = Boolean(picture && uri && changeOf(picture, uri));
  void commands.executeCommand("setContext", "sandboxAgent.changedFile", shown);
  void commands.executeCommand("setContext", "sandboxAgent.changes", Boolean(picture?.changes.length));
}

/** Says what is compared with what; the session may have another title by now. */
function describe(view: { description?: string; message?: string }, ctx: Ctx, picture: Picture | undefined): void {
  const session = picture && (ctx.sessions.get(picture.session.id)?.session ?? picture.session);
  view.description = session ? `${sessionTitle(session)} · ${l10n.t("since {0}", picture.base.summary)}` : "";
  view.message = picture?.changes.length === 0 ? l10n.t("Nothing differs.") : "";
}

async function openChange(changes: Changes, target: Target | undefined): Promise<void> {
  const { picture } = changes;
  if (!picture || !target) return;
  const { file } = target.change;
  const local = onDisk(picture.session, file.path);
  if (file.binary && local && file.kind !== "removed") {
    await commands.executeCommand("vscode.open", local);
    return;
  }
  const { left, right } = bothSides(picture.session, file, picture.base.id, undefined);
  const at = target.hunk ?? target.change.hunks[0];
  const options = { preview: true, ...(at && { selection: lineRange(firstChange(at)) }) };
  await commands.executeCommand(
    "vscode.diff",
    left,
    right,
    l10n.t("{0} (since {1})", file.path, picture.base.summary),
    options,
  );
}

/** Opens the multi-diff editor. */
async function openAll(ctx: Ctx, session: Session, from: string | undefined, to: string | undefined): Promise<void> {
  const sessionId = session.id;
  const base = from ?? (await ctx.rpc.request("checkpoints", { sessionId })).checkpoints[0]?.id;
  if (base === undefined) {
    sayInfo(l10n.t("The session has no checkpoint yet: it takes the first one before its first turn."));
    return;
  }
  const diff = await ctx.rpc.request("diff", { sessionId, from: base, ...(to && { to }) });
  const shown = diff.files.filter(({ path, binary }) => !binary && !path.endsWith("/")).map(asChange);
  if (shown.length === 0) {
    const only = diff.files.length;
    sayInfo(only ? l10n.t("Only binary files and folders differ: {0}.", only) : l10n.t("Nothing differs."));
    return;
  }
  const resources = shown.map(({ file }) => resourceOf(session, file, base, to));
  await commands.executeCommand("vscode.changes", l10n.t("Changes of {0}", sessionTitle(session)), resources);
  if (diff.truncated) sayInfo(l10n.t("More differs than is shown here."));
}

/** A checkpoint and the one before it. */
function step({ checkpoints }: Picture, checkpoint: Checkpoint): [from: string, to: string] {
  const at = checkpoints.findIndex((one) => sameRow(one, checkpoint));
  return [checkpoints[Math.max(0, at - 1)]?.id ?? checkpoint.id, checkpoint.id];
}

function idsOf(changes: Changes, { change, hunk }: Target): string[] {
  return hunk ? [hunk.id] : changes.ids(change);
}

async function accept(changes: Changes, target: Target | undefined): Promise<void> {
  if (target) await changes.accept(idsOf(changes, target));
}

async function reject(ctx: Ctx, changes: Changes, target: Target | undefined, withFeedback: boolean): Promise<void> {
  const { picture } = changes;
  if (!picture || !target) return;
  let reason = "";
  if (withFeedback) {
    const given = await window.showInputBox({
      title: l10n.t("Reject the change of {0}", target.change.file.path),
      prompt: l10n.t("What is wrong with it? The agent is told."),
    });
    if (given === undefined) return; // nothing is decided
    reason = given;
  }
  const taken = await takeBackIn(ctx, picture, target);
  if (withFeedback) await tellAgent(ctx, picture.session, target.change, target.hunk, reason, taken);
  else if (!taken && target.hunk) await offerAgent(ctx, picture, target);
  await changes.read();
}

function takeBackIn(ctx: Ctx, picture: Picture, { change, hunk }: Target): Promise<boolean> {
  return hunk ? takeHunkBack(picture.session, change, hunk) : takeFileBack(ctx, picture, change);
}

/** Where a hunk cannot be taken back here, the agent can. */
async function offerAgent(ctx: Ctx, { session }: Picture, { change, hunk }: Target): Promise<void> {
  const ask = l10n.t("Ask the Agent");
  const why =
    session.backend.kind === "local"
      ? l10n.t("Its lines have changed since in {0}.", change.file.path)
      : l10n.t("{0} is in the sandbox, where only whole files are brought back from here.", change.file.path);
  if ((await window.showWarningMessage(why, ask)) === ask) await tellAgent(ctx, session, change, hunk, "", false);
}
