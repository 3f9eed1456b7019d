// Code of a message, with what one can do with it. Long code is several boxes, of which the first has the head.
import * as l10n from "@vscode/l10n";
import type { VNode } from "preact";
import { scrolls } from "../focus";
import { CopyButton } from "../parts/controls";
import type { Store } from "../store";
import { Code } from "./code";
import { languageOfFence } from "./language";

interface CodeBoxProps {
  readonly text: string;
  /** What follows the mark of its fence. */
  readonly info: string;
  readonly first: boolean;
  readonly last: boolean;
  /** More of it comes. */
  readonly open: boolean;
  /** What stands before it in the same code. */
  readonly before: () => string;
  /** All of the code. */
  readonly whole: () => string;
  readonly store: Store;
}

export function CodeBox({ text, info, first, last, open, before, whole, store }: CodeBoxProps): VNode {
  return (
    <div class={`code-block${first ? " first" : ""}${last ? " last" : ""}`}>
      {first && (
        <div class="code-head">
          <span class="name">{info.split(/\s/)[0]}</span>
          <button
            class="plain"
            title={l10n.t("Insert at the cursor of the editor")}
            onClick={() => void store.attempt(() => store.host.call("insertCode", { text: whole() }))}
          >
            {l10n.t("Insert")}
          </button>
          <CopyButton text={whole} store={store} label={l10n.t("Copy Code")} />
        </div>
      )}
      <pre class="code" dir="ltr" {...scrolls(l10n.t("Code"))}>
        <Code text={text} language={languageOfFence(info)} open={open} before={before} />
      </pre>
    </div>
  );
}
