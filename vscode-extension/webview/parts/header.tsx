// Which session this is, what it is doing and since when, where it runs and what it has cost.
import * as l10n from "@vscode/l10n";
import { Component, type ComponentChild, type VNode } from "preact";
import type { Session } from "../../../editors/protocol";
import type { PageCommand } from "../../src/conversation/messages";
import { busy, type SessionView } from "../../src/model/session";
import {
  awayText,
  backendText,
  oneLine,
  shortNumber,
  sinceText,
  statusText,
  usageDetails,
  usageText,
  advice,
} from "../../src/model/text";
import type { Store } from "../store";

export function Header({ view, store }: { view: SessionView; store: Store }): VNode | null {
  const { session } = view;
  if (!session) return null;
  const run = (command: PageCommand): void =>
    void store.attempt(() => store.host.call("run", { sessionId: session.id, command }));
  return (
    <header class="header">
      <div class="line">
        <button
          class="title"
          dir="auto"
          title={l10n.t("Rename: {0}", session.title)}
          onClick={() => run("renameSession")}
        >
          {oneLine(session.title) || l10n.t("Untitled")}
        </button>
        {busy(view) && <StopButton store={store} />}
      </div>
      <StateLine view={view} store={store} />
      <div class="line facts">
        <button title={l10n.t("Switch Backend…")} onClick={() => run("switchBackend")}>
          {placeText(session)}
        </button>
        <button title={l10n.t("Model, effort and approvals…")} onClick={() => run("configureSession")}>
          {modelText(session)}
        </button>
        <span class="usage" title={usageDetails(session.usage)}>
          {usageText(session.usage)}
          {windowText(session)}
        </span>
      </div>
    </header>
  );
}

function placeText({ backend }: Session): string {
  return backend.image ? `${backendText(backend.kind)} (${backend.image})` : backendText(backend.kind);
}

function modelText({ model, effort, approvalMode }: Session): string {
  const modes: Partial<Record<string, string>> = {
    ask: l10n.t("asks"),
    auto: l10n.t("asks outside the sandbox"),
    never: l10n.t("never asks"),
    readOnly: l10n.t("read only"),
  };
  return [effort ? `${model} (${effort})` : model, modes[approvalMode] ?? approvalMode].join(" · ");
}

function windowText({ contextTokens, contextWindow }: Session): string {
  if (!contextTokens || !contextWindow) return "";
  return ` · ${l10n.t("{0} % of {1} context", Math.round((100 * contextTokens) / contextWindow), shortNumber(contextWindow))}`;
}

/** Ends the running turn. */
export function StopButton({ store }: { store: Store }): VNode {
  const stop = (): void => {
    const { session } = store.view ?? {};
    if (session) void store.attempt(() => store.host.call("stop", { sessionId: session.id, turnId: session.turnId }));
  };
  return (
    <button class="stop" title={l10n.t("Stop the running turn")} onClick={stop}>
      <span aria-hidden="true">■</span> {l10n.t("Stop")}
    </button>
  );
}

function StateLine({ view: { state, away }, store }: { view: SessionView; store: Store }): VNode {
  const { connected, problem } = store.connection;
  if (!connected) return <AwayLine reason={problem ?? l10n.t("Connecting.")} />;
  if (away) return <AwayLine reason={awayText(away)} since={away.since} />;
  return (
    <div class={`state ${state.status}`}>
      <span class="word">{statusText(state.status)}</span>{" "}
      <span class="reason" dir="auto" title={[state.reason, state.remedy].filter(Boolean).join("\n")}>
        {state.reason && oneLine(advice({ message: state.reason, remedy: state.remedy }))}
      </span>{" "}
      {state.status !== "idle" && <Since since={state.since} />}
    </div>
  );
}

function AwayLine({ reason, since }: { reason: string; since?: string }): VNode {
  return (
    <div class="state failed">
      <span class="word">{l10n.t("Away")}</span>{" "}
      <span class="reason" dir="auto" title={reason}>
        {reason}
      </span>{" "}
      {since && <Since since={since} />}
    </div>
  );
}

/** Counts the seconds, for eyes only. */
class Since extends Component<{ since: string }, { now: number }> {
  override state = { now: Date.now() };
  private timer = 0;

  override componentDidMount(): void {
    this.timer = window.setInterval(() => this.setState({ now: Date.now() }), 1000);
  }

  override componentWillUnmount(): void {
    clearInterval(this.timer);
  }

  override render({ since }: { since: string }): ComponentChild {
    return (
      <span class="since" aria-hidden="true">
        {sinceText(since, this.state.now)}
      </span>
    );
  }
}
