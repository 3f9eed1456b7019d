// What is shown where nothing was said yet: what can be asked, and how.
import * as l10n from "@vscode/l10n";
import type { VNode } from "preact";
import type { PageCommand } from "../../src/conversation/messages";
import { backendText } from "../../src/model/text";
import type { Store } from "../store";

export function Welcome({ store }: { store: Store }): VNode {
  if (!store.known) return <div class="welcome" aria-busy="true" />;
  const examples = [
    l10n.t("What is in this folder, and how is it built?"),
    l10n.t("Run the tests, and fix what fails."),
    l10n.t("Find the errors in @diagnostics, and explain them."),
  ];
  const hints = [
    ["/", l10n.t("lists the commands: move to another sandbox, fork, restore …")],
    ["@", l10n.t("sends a file, the selection or the problems along")],
    ["↑", l10n.t("brings back what you have asked before")],
  ];
  return (
    <div class="welcome">
      <h2>{l10n.t("Ask, and watch it work.")}</h2>
      <p>
        {l10n.t(
          "The agent reads, runs and edits in a sandbox. It goes on when you close the window, and you can come back to it.",
        )}
      </p>
      <h3>{l10n.t("For example")}</h3>
      <div class="examples">
        {examples.map((text) => (
          <button key={text} onClick={() => store.write(text)}>
            {text}
          </button>
        ))}
      </div>
      <h3>{l10n.t("In the input below")}</h3>
      <dl>
        {hints.map(([sign, meaning]) => (
          <div key={sign}>
            <dt>
              <kbd>{sign}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      {!store.view && <Begin store={store} />}
    </div>
  );
}

/** What a question begins where there is no session, and what can be had instead. */
function Begin({ store }: { store: Store }): VNode {
  const { fresh } = store;
  const run = (command: PageCommand) => () => void store.attempt(() => store.host.call("run", { command }));
  return (
    <>
      {fresh && (
        <p>
          {l10n.t("A new session has the sandbox “{0}” and the model “{1}”.", backendText(fresh.backend), fresh.model)}
        </p>
      )}
      <div class="buttons">
        <button onClick={run("newSession")}>{l10n.t("New Session…")}</button>
        <button onClick={run("showSessions")}>{l10n.t("Show Sessions")}</button>
      </div>
    </>
  );
}
