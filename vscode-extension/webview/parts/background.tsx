// The commands that go on in the background: each can be stopped.
import * as l10n from "@vscode/l10n";
import type { VNode } from "preact";
import type { BackgroundCommand } from "../../../editors/protocol";
import { oneLine } from "../../src/model/text";
import type { Store } from "../store";
import { Disclosure } from "./controls";

const key = "background"; // of whether it is open

export function Background({
  commands,
  store,
}: {
  commands: readonly BackgroundCommand[];
  store: Store;
}): VNode | null {
  if (commands.length === 0) return null;
  const open = store.opened.get(key) ?? false;
  return (
    <Disclosure
      class="panel background"
      open={open}
      onToggle={() => store.toggle(key, !open)}
      head={<span>{l10n.t("In the background: {0}", commands.length)}</span>}
    >
      <ul>
        {commands.map(({ itemId, command }) => (
          <li key={itemId}>
            <code dir="ltr" title={command}>
              {oneLine(command)}
            </code>
            <StopCommand itemId={itemId} store={store} />
          </li>
        ))}
      </ul>
    </Disclosure>
  );
}

/** Ends one command; the turn goes on. */
export function StopCommand({ itemId, store }: { itemId: string; store: Store }): VNode {
  const stop = (): void => {
    void store.attempt(() => store.host.call("stopCommand", { sessionId: store.sessionId ?? "", itemId }));
  };
  return (
    <button class="stop" title={l10n.t("Stop this command; the turn goes on")} onClick={stop}>
      <span aria-hidden="true">■</span> {l10n.t("Stop Command")}
    </button>
  );
}
