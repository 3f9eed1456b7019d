// A file that a tool call changes: its name, which opens it, and its lines.
import * as l10n from "@vscode/l10n";
import type { VNode } from "preact";
import { DiffCode } from "../code/diff";
import type { DiffFile } from "../diff";
import type { Store } from "../store";

export function FileDiff({ file, lines, store }: { file: DiffFile; lines: DiffFile["lines"]; store: Store }): VNode {
  return (
    <div class="file">
      {file.path !== "" && (
        <div class="file-head">
          <FileButton path={file.path} line={file.line} store={store} />
          <span class="added">+{file.added}</span> <span class="removed">−{file.removed}</span>
        </div>
      )}
      <DiffCode lines={lines} path={file.path} />
    </div>
  );
}

export function FileButton({ path, line, store }: { path: string; line: number; store: Store }): VNode {
  const open = (): void => {
    const given = { sessionId: store.sessionId ?? "", path, ...(line > 0 ? { line } : {}) };
    void store.attempt(() => store.host.call("file", given));
  };
  return (
    <button class="link" dir="ltr" title={l10n.t("Open {0}", path)} onClick={open}>
      {path}
    </button>
  );
}
