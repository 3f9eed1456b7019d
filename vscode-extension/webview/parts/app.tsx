// The whole page: header, plan, conversation, what waits, input.
import * as l10n from "@vscode/l10n";
import { Component, type ComponentChild, type VNode } from "preact";
import { busy, type SessionView } from "../../src/model/session";
import { advice, itemStatusText, oneLine } from "../../src/model/text";
import { home } from "../focus";
import { List, type ListHandle } from "../list/list";
import type { ConversationRow } from "../rows";
import type { Store } from "../store";
import { Announcer } from "./announcer";
import { Background } from "./background";
import { Composer } from "./composer";
import { Header } from "./header";
import { FailureRow } from "./failure";
import { EdgeRow, NoticeRow, ReasoningRow, RestRow, TextRow, ThinkingRow, UserRow } from "./message";
import { PlanPanel } from "./plan";
import { Queue } from "./queue";
import { ToolRow, toolText } from "./tool";
import { Welcome } from "./welcome";

export class App extends Component<{ store: Store }> {
  private readonly list: { current: ListHandle | null } = { current: null };
  private readonly draw = (row: ConversationRow): ComponentChild => drawn(row, this.props.store);

  override render({ store }: { store: Store }): ComponentChild {
    const { view } = store;
    return (
      <div class="app" onClick={(event) => follow(event, store)}>
        {view && <Header view={view} store={store} />}
        {view?.plan && (busy(view) || view.plan.turnId === view.session?.turnId) && (
          <PlanPanel plan={view.plan} store={store} />
        )}
        <main class="main">
          {view?.session && (view.items.length > 0 || view.older) ? (
            this.conversation(view, store)
          ) : (
            <Welcome store={store} />
          )}
          {view && store.reader === "above" && (
            <button class="to-end" onClick={() => this.list.current?.toEnd()}>
              <span aria-hidden="true">↓</span> {l10n.t("Latest")}
            </button>
          )}
        </main>
        {view && (store.reader === "above" || view.pendingApprovals.length > 1) && this.asks(view)}
        {store.hint && <HintBar store={store} />}
        {store.told && (
          <div class="told" role="alert" dir="auto">
            <span>{advice(store.told)}</span>
            <button aria-label={l10n.t("Close")} onClick={() => store.tell(undefined)}>
              ✕
            </button>
          </div>
        )}
        {view && <Background commands={view.background} store={store} />}
        {view && <Queue queued={view.queued} steerable={steerable(view)} store={store} />}
        <Composer view={view} store={store} onSaid={() => this.list.current?.toEnd()} />
        <Announcer view={view} />
      </div>
    );
  }

  private conversation(view: SessionView, store: Store): VNode {
    return (
      <List
        handle={this.list}
        key={view.id}
        rows={store.rows()}
        draw={this.draw}
        name={nameOf}
        label={l10n.t("Conversation")}
        busy={busy(view)}
        more={view.older || view.newerCut}
        onStart={() => store.olderFailed || void store.older()}
        onFollow={(follows) => store.follow(follows)}
        onLeave={() => home()?.focus()}
      />
    );
  }

  /** The questions that are not on the screen may still be on one's mind. */
  private asks({ pendingApprovals }: SessionView): VNode | null {
    const [first] = pendingApprovals;
    if (!first) return null;
    const more = pendingApprovals.length - 1;
    return (
      <div class="panel asks">
        <button onClick={() => this.list.current?.reveal(first.itemId, true)}>
          {more > 0 ? l10n.t("The agent asks you ({0} more)", more) : l10n.t("The agent asks you")}
        </button>
        <code dir="ltr">{oneLine(first.subject)}</code>
      </div>
    );
  }
}

function steerable({ state }: SessionView): boolean {
  return state.status === "running" || state.status === "waitingApproval" || state.status === "recovering";
}

function drawn(row: ConversationRow, store: Store): ComponentChild {
  switch (row.kind) {
    case "user":
      return <UserRow row={row} store={store} />;
    case "text":
      return <TextRow row={row} store={store} />;
    case "rest":
      return <RestRow row={row} store={store} />;
    case "thinking":
      return <ThinkingRow row={row} />;
    case "reasoning":
      return <ReasoningRow row={row} store={store} />;
    case "tool":
      return <ToolRow row={row} store={store} />;
    case "notice":
      return <NoticeRow row={row} store={store} />;
    case "failure":
      return <FailureRow row={row} store={store} />;
    case "older":
    case "newer":
      return <EdgeRow row={row} store={store} />;
  }
}

/** What a row is, for those who cannot see it. */
function nameOf(row: ConversationRow): string {
  switch (row.kind) {
    case "user":
      return l10n.t("You");
    case "text":
    case "rest":
    case "thinking":
      return l10n.t("The agent");
    case "reasoning":
      return l10n.t("Thought");
    case "tool":
      return `${toolText(row.item.tool ?? "")} ${oneLine(row.item.text ?? "")}, ${itemStatusText(row.item.status)}`;
    case "notice":
      return l10n.t("Notice");
    case "failure":
      return l10n.t("The turn failed");
    case "older":
      return l10n.t("Older ones");
    case "newer":
      return l10n.t("Newer ones");
  }
}

/** Links lead where the extension decides. */
function follow(event: MouseEvent, store: Store): void {
  const link = (event.target as Element).closest("a");
  if (!link) return;
  event.preventDefault();
  event.stopPropagation();
  const href = link.getAttribute("href") ?? "";
  void store.attempt(() => store.host.call("link", { sessionId: store.sessionId, href }));
}

function HintBar({ store }: { store: Store }): VNode {
  const { message, action } = store.hint ?? { message: "" };
  return (
    <div class="told hint" dir="auto">
      <span>{message}</span>
      {action && <button onClick={() => void store.attempt(() => store.host.call("resolve", {}))}>{action}</button>}
    </div>
  );
}
