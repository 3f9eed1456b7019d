// The requests that wait for the running turn: they can be changed, taken back, or sent to the running turn.
import * as l10n from "@vscode/l10n";
import { Component, createRef, type ComponentChild, type VNode } from "preact";
import type { QueuedMessage } from "../../../editors/protocol";
import { enter } from "../focus";
import type { Store } from "../store";

interface QueueState {
  /** The request that is changed, with its text. */
  readonly editing: { readonly itemId: string; readonly text: string } | undefined;
  /** The request of which something is being done. */
  readonly busy: string | undefined;
}

interface QueueProps {
  readonly queued: readonly QueuedMessage[];
  /** A turn runs that more can be said to. */
  readonly steerable: boolean;
  readonly store: Store;
}

export class Queue extends Component<QueueProps, QueueState> {
  override state: QueueState = { editing: undefined, busy: undefined };
  private readonly section = createRef<HTMLElement>();

  /** The keyboard goes back to the button that has opened the editor. */
  override componentDidUpdate(_: QueueProps, { editing }: QueueState): void {
    if (editing && !this.state.editing)
      this.section.current?.querySelector<HTMLElement>(`[data-edit="${editing.itemId}"]`)?.focus();
  }

  override render({ queued }: QueueProps): ComponentChild {
    if (queued.length === 0) return null;
    return (
      <section ref={this.section} class="panel queue" tabIndex={-1} aria-label={l10n.t("Waiting requests")}>
        <div class="quiet">{l10n.t("Waiting for the turn to end: {0}", queued.length)}</div>
        <ul>{queued.map((message) => this.entry(message))}</ul>
      </section>
    );
  }

  private entry(message: QueuedMessage): VNode {
    const { editing, busy } = this.state;
    const { itemId } = message;
    if (editing?.itemId === itemId) return this.editor(editing);
    const about = { "aria-disabled": busy === itemId, "aria-describedby": `waiting-${itemId}` };
    const sessionId = this.props.store.sessionId ?? "";
    const { host } = this.props.store;
    return (
      <li key={itemId}>
        <span class="said" dir="auto" id={`waiting-${itemId}`}>
          {message.text}
        </span>
        <span class="buttons">
          {this.props.steerable && (
            <button
              {...about}
              title={l10n.t("Send to the running turn now")}
              onClick={() => void this.act(itemId, () => host.call("steerQueued", { sessionId, itemId }))}
            >
              {l10n.t("Steer Now")}
            </button>
          )}
          <button {...about} data-edit={itemId} onClick={() => void this.edit(itemId)}>
            {l10n.t("Edit")}
          </button>
          <button
            {...about}
            onClick={() => void this.act(itemId, () => host.call("removeQueued", { sessionId, itemId }))}
          >
            {l10n.t("Remove")}
          </button>
        </span>
      </li>
    );
  }

  private editor({ itemId, text }: { itemId: string; text: string }): VNode {
    const save = (event: Event): void => {
      event.preventDefault();
      const sessionId = this.props.store.sessionId ?? "";
      void this.act(itemId, () => this.props.store.host.call("editQueued", { sessionId, itemId, text: text.trim() }));
    };
    return (
      <li key={itemId}>
        <form
          class="form"
          onSubmit={save}
          onKeyDown={(event) => event.key === "Escape" && !event.isComposing && this.close()}
        >
          <textarea
            ref={enter}
            rows={3}
            dir="auto"
            aria-label={l10n.t("Waiting request")}
            value={text}
            onInput={(event) => this.setState({ editing: { itemId, text: event.currentTarget.value } })}
          />
          <div class="buttons">
            <button class="primary" type="submit" disabled={text.trim() === ""}>
              {l10n.t("Save")}
            </button>
            <button type="button" onClick={() => this.close()}>
              {l10n.t("Cancel")}
            </button>
          </div>
        </form>
      </li>
    );
  }

  private close(): void {
    this.setState({ editing: undefined });
  }

  /** The queue shows only the beginning of a request, so the whole is fetched to be changed. */
  private edit(itemId: string): Promise<void> {
    const { store } = this.props;
    return this.act(itemId, async () => {
      const { text } = await store.host.call("queuedText", { sessionId: store.sessionId ?? "", itemId });
      this.setState({ editing: { itemId, text } });
    });
  }

  private async act(itemId: string, what: () => Promise<unknown>): Promise<void> {
    const { editing, busy } = this.state;
    if (busy === itemId) return;
    this.setState({ busy: itemId });
    const well = await this.props.store.attempt(what);
    this.setState({ busy: undefined });
    if (well && editing?.itemId === itemId) this.setState({ editing: undefined });
  }
}
