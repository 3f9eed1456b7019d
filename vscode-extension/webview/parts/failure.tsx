// Why a turn failed, and what can be done about it.
import * as l10n from "@vscode/l10n";
import { Component, type ComponentChild } from "preact";
import type { ConversationRow } from "../rows";
import type { Store } from "../store";

interface FailureProps {
  readonly row: Extract<ConversationRow, { kind: "failure" }>;
  readonly store: Store;
}

export class FailureRow extends Component<FailureProps, { asking: boolean }> {
  override state = { asking: false };
  private readonly requestId = crypto.randomUUID(); // the same for every try, so that it is asked once

  override render(
    { row: { failure, question }, store }: FailureProps,
    { asking }: { asking: boolean },
  ): ComponentChild {
    const key = /api[_ ]?key/i.test(`${failure.message} ${failure.remedy ?? ""}`);
    const run = (command: "setApiKey" | "doctor"): void =>
      void store.attempt(() => store.host.call("run", { sessionId: store.sessionId, command }));
    return (
      <div class="failure" dir="auto">
        <div class="problem">{failure.message || l10n.t("The turn failed.")}</div>
        {failure.remedy && <div>{failure.remedy}</div>}
        <div class="buttons">
          {question && (
            <button class="primary" disabled={asking} onClick={() => void this.again(question.id)}>
              {l10n.t("Ask Again")}
            </button>
          )}
          {key && <button onClick={() => run("setApiKey")}>{l10n.t("Set API Key…")}</button>}
          <button onClick={() => run("doctor")}>{l10n.t("Doctor")}</button>
        </div>
      </div>
    );
  }

  private async again(itemId: string): Promise<void> {
    const { store } = this.props;
    this.setState({ asking: true });
    const given = { sessionId: store.sessionId ?? "", itemId, requestId: this.requestId };
    await store.attempt(() => store.host.call("askAgain", given));
    this.setState({ asking: false });
  }
}
