// Where the user writes. The text goes only when the server has it, so nothing that was written is lost.
import * as l10n from "@vscode/l10n";
import { Component, createRef, type ComponentChild, type VNode } from "preact";
import { busy, type SessionView } from "../../src/model/session";
import { completed, isSlash, writingAt, type Writing } from "../completion";
import { Recall, requestsOf } from "../recall";
import { CallError } from "../host";
import type { Store } from "../store";
import { choicesFor, type Choice } from "./choices";

interface ComposerProps {
  readonly view: SessionView | undefined;
  readonly store: Store;
  /** What was written stands at the end of the conversation, or is about to. */
  readonly onSaid: () => void;
}

interface ComposerState {
  readonly text: string;
  readonly sending: boolean;
  readonly choices: readonly Choice[];
  readonly chosen: number;
}

type Way = "ask" | "steer" | "slash";

export class Composer extends Component<ComposerProps, ComposerState> {
  override state: ComposerState = { text: this.props.store.draft(), sending: false, choices: [], chosen: 0 };
  private readonly input = createRef<HTMLTextAreaElement>();
  private readonly recall = new Recall();
  private writing: Writing | undefined;
  private question = 0; // counts what was asked for completions
  private inserted = this.props.store.inserted;
  private grownFor = ""; // what the input had when it was made as high as that
  /** The last try, to repeat it under the same id when its answer was lost. */
  private tried: { readonly way: Way; readonly text: string; readonly id: string } | undefined;

  override componentDidMount(): void {
    this.grow();
    this.insert();
  }

  override componentDidUpdate(before: ComposerProps): void {
    const { view, store } = this.props;
    if (before.view?.id !== view?.id) this.write(store.draft());
    this.insert();
    this.grow();
  }

  override render({ view }: ComposerProps, { text, sending, choices, chosen }: ComposerState): ComponentChild {
    const running = view !== undefined && busy(view);
    const empty = text.trim() === "";
    const open = choices.length > 0;
    return (
      <div class="composer">
        {open && this.list(choices, chosen)}
        <textarea
          ref={this.input}
          class="input"
          rows={1}
          dir="auto"
          value={text}
          readOnly={sending}
          placeholder={
            running
              ? l10n.t("Ask when the turn has ended, or steer it")
              : l10n.t("Ask the agent; / for commands, @ for files")
          }
          aria-label={l10n.t("Message to the agent")}
          aria-haspopup="listbox"
          aria-controls={open ? "choices" : undefined}
          aria-autocomplete="list"
          aria-activedescendant={open ? `choice-${chosen}` : undefined}
          onInput={(event) => this.typed(event.currentTarget.value)}
          onKeyDown={(event) => this.key(event)}
          onClick={() => this.complete()}
          onBlur={() => this.close()}
        />
        <div class="buttons">
          <span class="quiet hint">
            {running ? l10n.t("Enter queues · Ctrl+Enter steers") : l10n.t("Enter sends · Shift+Enter: new line")}
          </span>
          {running && (
            <button
              disabled={empty || sending || isSlash(text)}
              title={l10n.t("Say it to the running turn (Ctrl+Enter)")}
              onClick={() => void this.send("steer")}
            >
              {l10n.t("Steer")}
            </button>
          )}
          <button class="primary" disabled={empty || sending} onClick={() => void this.send("ask")}>
            {running ? l10n.t("Queue") : l10n.t("Send")}
          </button>
        </div>
      </div>
    );
  }

  private list(choices: readonly Choice[], chosen: number): VNode {
    return (
      <ul class="choices" id="choices" role="listbox" aria-label={l10n.t("Completions")}>
        {choices.map((choice, i) => (
          <li
            key={choice.text}
            id={`choice-${i}`}
            role="option"
            aria-selected={i === chosen}
            ref={(element) => {
              if (i === chosen) element?.scrollIntoView({ block: "nearest" });
            }}
            onMouseDown={(event) => {
              event.preventDefault(); // the input keeps the focus
              this.choose(choice);
            }}
          >
            <span class="name">{choice.label}</span> <span class="quiet">{choice.detail}</span>
          </li>
        ))}
      </ul>
    );
  }

  /** Puts text in that comes from the extension, behind what is there. */
  private insert(): void {
    const { inserted } = this.props.store;
    if (!inserted || inserted === this.inserted) return;
    this.inserted = inserted;
    const { text } = this.state;
    if (inserted.text !== "")
      this.write(text === "" || /\s$/.test(text) ? text + inserted.text : `${text} ${inserted.text}`);
    this.input.current?.focus();
  }

  private write(text: string, caret = text.length): void {
    this.setState({ text }, () => this.input.current?.setSelectionRange(caret, caret));
    this.props.store.setDraft(text);
  }

  private typed(text: string): void {
    this.recall.end();
    this.setState({ text });
    this.props.store.setDraft(text);
    this.complete(text);
  }

  /** As high as its text, as far as the style allows. What is around does not move meanwhile: the list would lose its end. */
  private grow(): void {
    const input = this.input.current;
    const around = input?.parentElement;
    if (!input || !around) return;
    const shown = `${input.clientWidth} ${input.placeholder} ${input.value}`;
    if (shown === this.grownFor) return;
    this.grownFor = shown;
    around.style.minBlockSize = `${around.getBoundingClientRect().height}px`;
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight + 2}px`;
    around.style.minBlockSize = "";
  }

  private complete(text = this.state.text): void {
    const { store } = this.props;
    this.writing = writingAt(text, this.input.current?.selectionStart ?? text.length);
    const question = ++this.question;
    if (!this.writing) {
      this.close();
      return;
    }
    void choicesFor(store, this.writing).then((choices) => {
      if (question === this.question) this.setState({ choices, chosen: 0 });
    });
  }

  private close(): void {
    this.question++;
    if (this.state.choices.length > 0) this.setState({ choices: [] });
  }

  private choose(choice: Choice): void {
    const { writing } = this;
    const input = this.input.current;
    if (!writing || !input) return;
    const next = completed(this.state.text, input.selectionStart, writing.from, choice.text);
    this.close();
    this.write(next.text, next.caret);
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return; // the key belongs to an input method
    const taken = this.state.choices.length > 0 ? this.choicesKey(event) : this.inputKey(event);
    if (taken) event.preventDefault();
  }

  private choicesKey(event: KeyboardEvent): boolean {
    const { choices, chosen } = this.state;
    const choice = choices[chosen];
    switch (event.key) {
      case "ArrowDown":
        this.setState({ chosen: (chosen + 1) % choices.length });
        return true;
      case "ArrowUp":
        this.setState({ chosen: (chosen + choices.length - 1) % choices.length });
        return true;
      case "Escape":
        this.close();
        return true;
      case "Tab":
      case "Enter":
        if (!choice || event.shiftKey) return false;
        if (event.key === "Enter" && this.isWhole(choice)) return this.inputKey(event);
        this.choose(choice);
        return true;
      default:
        return this.inputKey(event);
    }
  }

  /** What is written is the choice already, so Enter does not mean it. */
  private isWhole(choice: Choice): boolean {
    return this.state.text.slice(this.writing?.from ?? 0).trim() === choice.text;
  }

  private inputKey(event: KeyboardEvent): boolean {
    const { view } = this.props;
    const { text } = this.state;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      const steers = (event.ctrlKey || event.metaKey) && view !== undefined && busy(view);
      void this.send(steers ? "steer" : "ask");
      return true;
    }
    const plain = !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey;
    if (!plain || (text !== "" && !this.recall.active)) return false;
    const requests = requestsOf(view?.items ?? []);
    const found =
      event.key === "ArrowUp"
        ? this.recall.back(requests, text)
        : event.key === "ArrowDown"
          ? this.recall.forth(requests)
          : undefined;
    if (found === undefined) return false;
    this.write(found);
    return true;
  }

  private async send(wanted: "ask" | "steer"): Promise<void> {
    const { view, store } = this.props;
    const { text, sending } = this.state;
    if (sending || text.trim() === "") return;
    const way: Way = isSlash(text) ? "slash" : wanted;
    if (this.tried?.way !== way || this.tried.text !== text) this.tried = { way, text, id: crypto.randomUUID() };
    const { id } = this.tried;
    this.close();
    this.setState({ sending: true });
    store.tell(undefined);
    const sent = await store.attempt(() => this.submit(way, text.trim(), id, view?.id));
    this.setState({ sending: false });
    if (!sent) return;
    this.tried = undefined;
    this.recall.end();
    store.sent(view?.id);
    if (this.state.text === text) this.write("");
  }

  private async submit(way: Way, text: string, requestId: string, sessionId: string | undefined): Promise<void> {
    const { host } = this.props.store;
    if (way === "slash") {
      const { refused } = await host.call("slash", { sessionId, line: text });
      if (refused) throw new CallError({ message: refused });
    } else if (way === "steer" && sessionId) {
      await host.call("steer", { sessionId, text, requestId });
      this.props.onSaid();
    } else {
      const { queued } = await host.call("ask", { sessionId, text, requestId });
      if (!queued) this.props.onSaid();
    }
  }
}
