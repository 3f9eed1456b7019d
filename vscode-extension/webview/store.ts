// What the page knows and what its user has done to it. It draws once a frame, however much has come, and then asks for more.
import type { SlashCommand, Connection, Fresh, Hint, Problem, ToPage, Change } from "../src/conversation/messages";
import { applied, attached, withOlder, type Reader, type SessionView } from "../src/model/session";
import type { Host } from "./host";
import { CallError } from "./host";
import { Rows, type ConversationRow, type Reading } from "./rows";
import { openedList, withDraft, type Saved } from "./saved";

/** Something that went wrong and is told above the input until the next act. */
export type Told = Problem;

export class Store {
  view: SessionView | undefined;
  /** The extension has said what there is. */
  known = false;
  connection: Connection = { connected: true };
  hint: Hint | undefined;
  fresh: Fresh | undefined;
  slash: readonly SlashCommand[] = [];
  told: Told | undefined;
  reader: Reader = "end";
  loadingOlder = false;
  /** Older items could not be read: only a wish of the user's tries again. */
  olderFailed = false;
  planOpen: boolean;
  /** Text that is to come into the input; each one once. */
  inserted: { readonly text: string } | undefined;
  readonly opened: Map<string, boolean>;
  readonly readings = new Map<string, Reading>();
  private drafts: Saved["drafts"];
  private readonly rowsOf = new Rows();
  private batch: number | undefined;
  private drawing = false;

  constructor(
    readonly host: Host,
    saved: Saved,
    private readonly save: (saved: Saved) => void,
    private readonly draw: () => void,
    /** Calls back before the next frame is drawn. */
    private readonly frame: (callback: () => void) => void = (callback) => void requestAnimationFrame(callback),
  ) {
    this.drafts = saved.drafts;
    this.opened = new Map(saved.opened.map(({ key, open }) => [key, open]));
    this.planOpen = saved.plan ?? true;
  }

  get sessionId(): string | undefined {
    return this.view?.id;
  }

  /** The rows to draw. */
  rows(): readonly ConversationRow[] {
    return this.view ? this.rowsOf.update(this.view, this) : [];
  }

  /** Takes a message of the extension. */
  take(message: Exclude<ToPage, { type: "reply" | "hello" }>): void {
    switch (message.type) {
      case "session":
        this.show(message.view);
        this.batch = message.batch;
        break;
      case "changes":
        for (const change of message.changes) this.change(change);
        this.batch = message.batch;
        break;
      case "connection":
        this.connection = message.connection;
        break;
      case "hint":
        this.hint = message.hint;
        break;
      case "fresh":
        this.fresh = message;
        break;
      case "insert":
        this.inserted = { text: message.text };
        break;
      case "focus":
        this.inserted = { text: "" };
        break;
    }
    this.changed();
  }

  private show(view: SessionView | undefined): void {
    this.known = true;
    if (view?.id !== this.view?.id) {
      this.reader = "end";
      this.olderFailed = false;
      this.readings.clear();
      this.told = undefined;
    }
    this.view = view;
    this.remember();
  }

  private change(change: Change): void {
    if (!this.view) return;
    this.view =
      change.kind === "attached"
        ? attached(this.view, change.result, this.reader)
        : applied(this.view, change.message, this.reader);
  }

  /** Draws soon, and once. */
  changed(): void {
    if (this.drawing) return;
    this.drawing = true;
    this.frame(() => {
      this.drawing = false;
      this.draw();
      if (this.batch === undefined) return;
      this.host.post({ type: "drawn", batch: this.batch });
      this.batch = undefined;
    });
  }

  /** Tells what went wrong, or that nothing does any more. */
  tell(problem: Told | undefined): void {
    this.told = problem;
    this.changed();
  }

  /** Does something and tells if it went wrong. Reports whether it went well. */
  async attempt(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (thrown) {
      this.tell(
        thrown instanceof CallError
          ? thrown.problem
          : { message: thrown instanceof Error ? thrown.message : String(thrown) },
      );
      return false;
    }
  }

  toggle(key: string, open: boolean): void {
    this.opened.delete(key); // so that it is the latest
    this.opened.set(key, open);
    this.remember();
    this.changed();
  }

  togglePlan(): void {
    this.planOpen = !this.planOpen;
    this.remember();
    this.changed();
  }

  /** Puts a text into the input. */
  write(text: string): void {
    this.inserted = { text };
    this.changed();
  }

  draft(): string {
    return this.drafts.find(({ session }) => session === (this.sessionId ?? ""))?.text ?? "";
  }

  setDraft(text: string): void {
    this.drafts = withDraft(this.drafts, this.sessionId ?? "", text);
    this.remember();
  }

  /** The server has what was written in a session. */
  sent(session: string | undefined): void {
    this.drafts = withDraft(this.drafts, session ?? "", "");
    this.remember();
  }

  /** The end of the conversation is followed from now on, or not. */
  follow(follows: boolean): void {
    this.reader = follows ? "end" : "above";
    if (follows && this.view && (this.view.newerCut || this.view.items.length > manyItems)) this.newest();
    this.changed();
  }

  /** Goes back to what the extension has of the session: its end. */
  newest(): void {
    const { sessionId } = this;
    if (sessionId) void this.attempt(() => this.host.call("newest", { sessionId }));
  }

  /** Reads the page of items before those that are here. */
  async older(): Promise<void> {
    const { view } = this;
    if (!view?.older || this.loadingOlder) return;
    this.loadingOlder = true;
    this.changed();
    const first = Math.min(...view.items.map((item) => item.seq), Number.MAX_SAFE_INTEGER);
    const well = await this.attempt(async () => {
      const { items, before } = await this.host.call("older", { sessionId: view.id, before: view.before, first });
      if (this.view?.id === view.id && this.view.items[0] === view.items[0])
        this.view = withOlder(this.view, items, before);
    });
    this.olderFailed = !well;
    this.loadingOlder = false;
    this.changed();
  }

  private remember(): void {
    this.save({ drafts: this.drafts, opened: openedList(this.opened), plan: this.planOpen });
  }
}

/** With more items than this, going to the end lets the oldest go. */
const manyItems = 1000;
