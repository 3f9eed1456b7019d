// What a call would change, which is to be seen before it is allowed.
import * as l10n from "@vscode/l10n";
import { Component, type ComponentChild } from "preact";
import { scrolls } from "../focus";
import { filesOfPatch, patchOf } from "../proposal";
import { readAtOnce, readMore } from "../reading";
import type { Store } from "../store";
import { FileDiff } from "./file";
import { showInEditor } from "./message";
import type { ToolRowData } from "./tool";

interface ProposalProps {
  readonly row: ToolRowData;
  readonly store: Store;
}

const shownLines = 2000;

/** The rest of long arguments comes by itself. */
export class Proposal extends Component<ProposalProps> {
  override componentDidMount(): void {
    const { row, store } = this.props;
    if (patchOf(row.item.arguments ?? "") === undefined && !row.reading) void readMore(store, row.item, readAtOnce);
  }

  override render({ row, store }: ProposalProps): ComponentChild {
    const { item, reading } = row;
    const text = reading?.text || (item.arguments ?? "");
    const patch = patchOf(text);
    const files = patch === undefined ? [] : filesOfPatch(patch);
    const lines = files.reduce((sum, file) => sum + file.lines.length, 0);
    let room = shownLines;
    return (
      <>
        {files.map((file) => {
          const shown = file.lines.slice(0, room);
          room -= shown.length;
          return <FileDiff file={file} lines={shown} store={store} />;
        })}
        {reading?.loading && <div class="quiet">{l10n.t("Reading…")}</div>}
        {reading?.problem && <div class="problem">{reading.problem}</div>}
        {patch === undefined && reading?.loading === false && (
          <pre class="output" dir="ltr" {...scrolls(l10n.t("What it would change"))}>
            {text}
          </pre>
        )}
        {(lines > shownLines || patch === undefined) && (
          <div class="buttons">
            {lines > shownLines && <span class="quiet">{l10n.t("{0} more lines", lines - shownLines)}</span>}
            <button onClick={() => void showInEditor(store, item, "arguments")}>{l10n.t("Open in Editor")}</button>
          </div>
        )}
      </>
    );
  }
}
