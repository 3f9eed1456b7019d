// What a turn has come to is written into a response of the chat, where nothing can be taken back: drawn from the session as it
// is known, so that a reconnection is no case of its own.
import { l10n, type ChatResponseStream } from "vscode";
import type { Approval, AskResult, Item } from "../../editors/protocol";
import { busy, cut, type SessionView } from "./model/session";
import { awayText, codeBlock, oneLine, patchTool, stateText } from "./model/text";
import { advice } from "./model/text";
import type { SessionUpdate } from "./sessions/sessions";

/** How a turn ended: what changed tells whether there is something to look at. */
export interface Ended {
  readonly changed: boolean;
  readonly failure?: string;
}

export class ChatTurn {
  /** What was written of messages, by the id of their item. */
  private readonly written = new Map<string, string>();
  /** What is told once: tool calls that began, approvals, notices. */
  private readonly told = new Set<string>();
  private doing: string | undefined;
  private changed = false;

  constructor(
    private readonly stream: ChatResponseStream,
    private readonly asked: AskResult,
  ) {}

  /** Writes what is new; the end of the turn is returned when it is known. */
  draw(view: SessionView, update?: SessionUpdate): Ended | undefined {
    const { turnId, itemId } = this.asked;
    const items = view.items.filter((item) => item.turnId === turnId);
    for (const item of items) this.item(item, view);
    for (const approval of view.pendingApprovals) if (approval.turnId === turnId) this.approval(approval, view.id);
    this.state(view);
    const request = items.find(({ id }) => id === itemId)?.status;
    if (request === "interrupted") return { changed: false, failure: l10n.t("The question was taken back.") };
    return this.over(view, update, request) ? this.end(view, update) : undefined;
  }

  private over(view: SessionView, update: SessionUpdate | undefined, request: Item["status"] | undefined): boolean {
    const { turnId } = this.asked;
    const now = view.session?.turnId ?? 0;
    if (update?.kind === "gone" || now > turnId) return true;
    if (update?.kind === "event" && update.message.event.type === "turn/completed")
      return update.message.event.turnId === turnId;
    // The end may have come before the answer to ask, in what was missed, or in no event at all.
    const settled = update?.kind === "attached" || (!update && request === "completed");
    return settled && now === turnId && !busy(view);
  }

  private end(view: SessionView, update: SessionUpdate | undefined): Ended {
    const failure = view.failures[this.asked.turnId];
    if (failure) return { changed: this.changed, failure: advice(failure) };
    const event = update?.kind === "event" ? update.message.event : undefined;
    if (event?.type === "turn/completed" && event.status === "interrupted")
      this.stream.markdown(`\n\n*${l10n.t("The turn was interrupted.")}*`);
    return { changed: this.changed };
  }

  private item(item: Item, view: SessionView): void {
    if (item.files?.length) this.changed = true;
    if (item.kind === "agentMessage") this.message(item, view);
    else if (item.kind === "toolCall")
      this.once(item.id, () => this.stream.progress(oneLine(item.text || item.tool || "")));
    else if (item.kind === "notice" && item.text)
      this.once(item.id, () => this.stream.markdown(`\n\n*${oneLine(item.text ?? "")}*\n\n`));
  }

  /** Writes how a message goes on. Of a text that another attempt has begun anew, only the whole is written. */
  private message(item: Item, view: SessionView): void {
    const live = view.live[item.id];
    const complete = item.status !== "inProgress";
    const text = complete ? (item.text ?? "") : live && !live.lost && !live.stale ? live.text : "";
    const before = this.written.get(item.id) ?? "";
    const goesOn = text.startsWith(before);
    if (goesOn && text !== before) this.stream.markdown(text.slice(before.length));
    if (!goesOn && complete && !before.startsWith(text)) this.stream.markdown(`\n\n---\n\n${text}`);
    if (complete || goesOn) this.written.set(item.id, text);
    if (!complete || text === "") return;
    this.once(item.id, () => {
      this.stream.markdown("\n\n");
      if (cut(item)) this.stream.markdown(`*${l10n.t("The whole answer is in the conversation.")}*\n\n`);
    });
  }

  private approval(approval: Approval, sessionId: string): void {
    this.once(approval.id, () => {
      // In a block of code nothing of it is taken for Markdown: what is allowed is read as it will run.
      const subject = codeBlock(approval.subject);
      this.stream.markdown(`\n\n**${l10n.t("It waits for your answer:")}**\n\n${subject}\n\n`);
      const open = { command: "sandboxAgent.openSession", title: l10n.t("Open") };
      const allow = { command: "sandboxAgent.allowApproval", title: l10n.t("Allow") };
      const deny = { command: "sandboxAgent.denyApproval", title: l10n.t("Deny") };
      // A change of files is not told here: it is to be read before it is allowed.
      for (const button of approval.tool === patchTool ? [open, deny] : [allow, deny])
        this.stream.button({ ...button, arguments: [{ sessionId, approval }] });
    });
  }

  /** Tells what is wrong while nothing comes; of all the rest the chat would make steps of a turn that takes none. */
  private state({ state, away }: SessionView): void {
    const recovering = state.status === "recovering" ? stateText(state) : undefined;
    const doing = away ? awayText(away) : recovering;
    if (doing && doing !== this.doing) this.stream.progress(doing);
    this.doing = doing;
  }

  private once(key: string, tell: () => void): void {
    if (this.told.has(key)) return;
    this.told.add(key);
    tell();
  }
}
