// Tells those who cannot see the page what has come: whole messages, questions and ends, never single tokens.
import * as l10n from "@vscode/l10n";
import { Component, type ComponentChild } from "preact";
import type { SessionView } from "../../src/model/session";
import { awayText, stateText } from "../../src/model/text";

const kept = 5;
const longest = 500; // UTF-16 units of one message

/** What is new in a view, for ears; nothing when it shows another session or its first picture. */
export function news(before: SessionView | undefined, view: SessionView | undefined): readonly string[] {
  if (!view || !before?.session || before.id !== view.id || before === view) return [];
  const out: string[] = [];
  if (before.items !== view.items) {
    const old = new Map(before.items.slice(-50).map((item) => [item.id, item]));
    for (const item of view.items.slice(-50)) {
      const known = old.get(item.id);
      const ended = item.status !== "inProgress" && known?.status === "inProgress";
      if (item.kind === "agentMessage" && ended && item.text)
        out.push(l10n.t("The agent: {0}", item.text.slice(0, longest)));
      if (item.kind === "notice" && !known) out.push(item.text ?? "");
    }
  }
  for (const approval of view.pendingApprovals) {
    const asked = before.pendingApprovals.some(({ id }) => id === approval.id);
    if (!asked) out.push(l10n.t("The agent asks: {0}. {1}", approval.subject.slice(0, longest), approval.reason));
  }
  if (view.away && before.away?.reason !== view.away.reason) out.push(awayText(view.away));
  if (before.away && !view.away) out.push(l10n.t("The session goes on."));
  if (before.state.status !== view.state.status && ["failed", "idle", "paused"].includes(view.state.status))
    out.push(stateText(view.state));
  return out;
}

export class Announcer extends Component<
  { view: SessionView | undefined },
  { said: readonly { id: number; text: string }[] }
> {
  override state: { said: readonly { id: number; text: string }[] } = { said: [] };
  private last = 0;

  override componentDidUpdate(before: { view: SessionView | undefined }): void {
    const texts = news(before.view, this.props.view);
    if (texts.length === 0) return;
    this.setState(({ said }) => ({
      said: [...said, ...texts.map((text) => ({ id: ++this.last, text }))].slice(-kept),
    }));
  }

  override render(): ComponentChild {
    return (
      <div class="unseen" role="log" aria-live="polite" aria-label={l10n.t("News")}>
        {this.state.said.map(({ id, text }) => (
          <p key={id}>{text}</p>
        ))}
      </div>
    );
  }
}
