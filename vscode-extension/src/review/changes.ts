// What the current session has changed since one of its checkpoints. It is read when somebody looks, and again when a turn ends.
import { EventEmitter, type Disposable } from "vscode";
import type { Checkpoint, FileDiff, Session } from "../../../editors/protocol";
import type { Ctx } from "../ctx";
import type { SessionUpdate } from "../sessions/sessions";
import { distinct, sameRow, type Row } from "./checkpoints";
import { Decisions } from "./decisions";
import { hunksOf, type Hunk } from "./hunks";

/** A changed file; only changed texts have hunks that are decided one by one. */
export interface Change {
  readonly file: FileDiff;
  readonly hunks: readonly Hunk[];
}

/** One reading. */
export interface Picture {
  readonly session: Session;
  /** What the changes are since: one of the checkpoints. */
  readonly base: Row;
  readonly changes: readonly Change[];
  /** More differs than is listed. */
  readonly truncated: boolean;
  /** Oldest first. */
  readonly checkpoints: readonly Row[];
}

const settled = ["turn/completed", "checkpoint/created", "backend/changed"];
/** Milliseconds in which what happens together is read once. */
const patience = 300;

export class Changes implements Disposable {
  private readonly changed = new EventEmitter<void>();
  /** Fires when there is another picture, or none, or what was decided has changed. */
  readonly onDidChange = this.changed.event;
  readonly decisions: Decisions;
  private readonly listeners: Disposable[];
  private readonly bases = new Map<string, Checkpoint>();
  private latest: Picture | undefined;
  private reading = 0;
  private timer: NodeJS.Timeout | undefined;
  private watched = false;
  /** Something has happened since the latest reading began. */
  private stale = true;

  constructor(private readonly ctx: Ctx) {
    this.decisions = new Decisions(ctx.extension.workspaceState);
    this.listeners = [
      ctx.sessions.onDidChangeCurrent(() => {
        this.forget();
        this.soon();
      }),
      ctx.sessions.onUpdate((update) => {
        if (update.sessionId === ctx.sessions.current && this.concerns(update)) this.soon();
      }),
    ];
  }

  /** What was read last, of the current session. */
  get picture(): Picture | undefined {
    return this.latest;
  }

  /** Whether somebody looks; what nobody looks at is not read. */
  watch(watched: boolean): void {
    this.watched = watched;
    if (watched && this.stale) this.soon();
  }

  /** Reads now. Rejects with an RpcError. */
  async read(session?: Session): Promise<Picture | undefined> {
    clearTimeout(this.timer);
    const reading = ++this.reading;
    this.stale = false;
    const about = session ?? this.ctx.sessions.currentView?.session;
    if (!about) {
      this.forget();
      return undefined;
    }
    const picture = await this.pictureOf(about).catch((thrown: unknown) => {
      this.stale = true;
      throw thrown;
    });
    if (reading === this.reading && about.id === this.ctx.sessions.current) this.show(picture);
    return picture;
  }

  /** Compares with another checkpoint from now on; without one with the session's first. */
  async compareWith(checkpoint: Checkpoint | undefined): Promise<void> {
    const session = this.ctx.sessions.current;
    if (session === undefined) return;
    if (checkpoint === undefined) this.bases.delete(session);
    else this.bases.set(session, checkpoint);
    await this.read();
  }

  /** The ids by which a change is remembered: of its hunks, else of the file as it differs. */
  ids({ file, hunks }: Change): string[] {
    if (hunks.length > 0) return hunks.map(({ id }) => id);
    return hunksOf(file.path, `@@ -1 +1 @@\n+${file.kind} ${file.patch ?? ""}`).map(({ id }) => id);
  }

  async accept(ids: readonly string[]): Promise<void> {
    if (!this.latest) return;
    await this.decisions.accept(this.latest.session.id, ids);
    this.changed.fire();
  }

  async withdraw(ids: readonly string[]): Promise<void> {
    if (!this.latest) return;
    await this.decisions.withdraw(this.latest.session.id, ids);
    this.changed.fire();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const listener of this.listeners) listener.dispose();
    this.changed.dispose();
  }

  private concerns(update: SessionUpdate): boolean {
    if (update.kind === "event") return settled.includes(update.message.event.type);
    return update.kind === "attached"; // what happened while it was not attached is not told
  }

  private soon(): void {
    this.stale = true;
    if (!this.watched) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.read().catch((thrown: unknown) => this.ctx.log.warn("changes not read:", String(thrown)));
    }, patience);
  }

  private forget(): void {
    this.reading++;
    if (this.latest) this.show(undefined);
  }

  private show(picture: Picture | undefined): void {
    this.latest = picture;
    this.changed.fire();
  }

  private async pictureOf(session: Session): Promise<Picture | undefined> {
    const { rpc } = this.ctx;
    const checkpoints = distinct((await rpc.request("checkpoints", { sessionId: session.id })).checkpoints);
    const chosen = this.bases.get(session.id);
    const base = checkpoints.find((checkpoint) => chosen && sameRow(checkpoint, chosen)) ?? checkpoints[0];
    if (!base) return undefined;
    const diff = await rpc.request("diff", { sessionId: session.id, from: base.id });
    const changes = diff.files.filter(({ path }) => !path.endsWith("/")).map(asChange);
    return { session, base, changes, truncated: diff.truncated, checkpoints };
  }
}

/** A file with its hunks, if they can be decided one by one. */
export function asChange(file: FileDiff): Change {
  const apart = file.kind === "changed" && !file.binary && file.patch !== undefined;
  return { file, hunks: apart ? hunksOf(file.path, file.patch ?? "") : [] };
}
