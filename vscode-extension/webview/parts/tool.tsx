// A tool call: one line that opens what it did.
import * as l10n from "@vscode/l10n";
import type { ComponentChild, VNode } from "preact";
import type { FileChange, Item } from "../../../editors/protocol";
import { durationText, itemStatusText, sizeText } from "../../src/model/text";
import { filesOf } from "../diff";
import { scrolls } from "../focus";
import { proposes } from "../proposal";
import { readMore, streamOf } from "../reading";
import type { ConversationRow, Reading } from "../rows";
import type { Store } from "../store";
import { firstLines, lastLines, settled } from "../../src/model/terminal";
import { Approve } from "./approval";
import { StopCommand } from "./background";
import { CopyButton, Disclosure } from "./controls";
import { FileButton, FileDiff } from "./file";
import { readText, showInEditor } from "./message";
import { Proposal } from "./proposal";

export type ToolRowData = Extract<ConversationRow, { kind: "tool" }>;

const liveLines = 5;
const shownLines = 200; // of a preview
const shownDiffLines = 300;
const readStep = 128 * 1024; // bytes
const shownBytes = 1024 * 1024; // in the conversation; an editor shows all

const signs: Partial<Record<string, string>> = {
  inProgress: "…",
  completed: "✓",
  failed: "✗",
  denied: "⊘",
  interrupted: "■",
  unknown: "?",
};

/** A tool as a verb. */
export function toolText(tool: string): string {
  const verbs: Partial<Record<string, string>> = {
    exec_command: l10n.t("Run"),
    write_stdin: l10n.t("Input"),
    read_file: l10n.t("Read"),
    list: l10n.t("List"),
    search: l10n.t("Search"),
    apply_patch: l10n.t("Edit"),
    update_plan: l10n.t("Plan"),
  };
  return verbs[tool] ?? tool;
}

export function ToolRow({ row, store }: { row: ToolRowData; store: Store }): VNode {
  const { item, live, approval, opened } = row;
  const stoppable = item.status === "inProgress" && item.tool === "exec_command" && !approval;
  return (
    <div class={`tool ${item.status}`}>
      <Disclosure
        class="call"
        open={opened}
        onToggle={() => store.toggle(item.id, !opened)}
        head={<Head item={item} />}
      >
        <Body row={row} store={store} />
      </Disclosure>
      {item.error && <div class="problem">{item.error}</div>}
      {!opened && item.status === "inProgress" && live?.output && (
        <pre class="output live" dir="ltr">
          {lastLines(settled(live.output), liveLines)}
        </pre>
      )}
      {stoppable && <StopCommand itemId={item.id} store={store} />}
      {approval && (
        <Approve key={approval.id} approval={approval} store={store}>
          {proposes(item) && <Proposal row={row} store={store} />}
        </Approve>
      )}
    </div>
  );
}

function Head({ item }: { item: Item }): VNode {
  const exit = item.exitCode ? l10n.t("exit {0}", item.exitCode) : "";
  const lasted = item.durationMs !== undefined && item.durationMs >= 100 ? durationText(item.durationMs) : "";
  const stopped = item.stoppedBy && !item.error ? l10n.t("stopped by {0}", item.stoppedBy) : "";
  const goesOn = item.background && !item.stoppedBy ? l10n.t("in the background") : "";
  return (
    <>
      <span class={`sign ${item.status}`} title={itemStatusText(item.status)} aria-hidden="true">
        {signs[item.status] ?? "·"}
      </span>
      <span class="verb">{toolText(item.tool ?? "")}</span>
      <code class="subject-line" dir="ltr">
        {item.text}
      </code>
      <span class="facts">{[exit, lasted, stopped, goesOn].filter(Boolean).join(" · ")}</span>
      <span class="unseen">{itemStatusText(item.status)}</span>
    </>
  );
}

function Body({ row, store }: { row: ToolRowData; store: Store }): ComponentChild {
  const { item, live, approval } = row;
  if (item.diff) return <Diff row={row} diff={item.diff} store={store} />;
  if (proposes(item) && !approval) return <Proposal row={row} store={store} />;
  const files = <Files files={item.files ?? []} store={store} />;
  if (item.status === "inProgress") {
    return <Preview>{live?.output ? lastLines(settled(live.output), shownLines) : l10n.t("No output yet")}</Preview>;
  }
  if (!item.output || item.output.totalBytes === 0) {
    return (
      <>
        {files}
        {(item.files ?? []).length === 0 && <div class="quiet">{l10n.t("No output")}</div>}
      </>
    );
  }
  return (
    <>
      {files}
      <OutputOf row={row} output={item.output} store={store} />
    </>
  );
}

function Preview({ children }: { children: ComponentChild }): VNode {
  return (
    <pre class="output" dir="ltr" {...scrolls(l10n.t("Output"))}>
      {children}
    </pre>
  );
}

function OutputOf({
  row,
  output,
  store,
}: {
  row: ToolRowData;
  output: NonNullable<Item["output"]>;
  store: Store;
}): VNode {
  const { item, reading } = row;
  const parts = [output.head, output.tail ?? ""].map(settled);
  const kept = new TextEncoder().encode(output.head + (output.tail ?? "")).length;
  const head = firstLines(parts[0] ?? "", shownLines);
  const cut = output.totalBytes > kept || head.lines > shownLines;
  if (reading && reading.text !== "") {
    return (
      <>
        <Preview>{settled(reading.text)}</Preview>
        <More item={item} reading={reading} store={store} text={() => settled(reading.text)} />
      </>
    );
  }
  return (
    <>
      <Preview>
        {head.text}
        {cut && <div class="gap">{l10n.t("… {0} in all …", sizeText(output.totalBytes))}</div>}
        {parts[1] && lastLines(parts[1], shownLines)}
      </Preview>
      <More
        item={item}
        reading={cut ? (reading ?? unread(output.totalBytes)) : undefined}
        store={store}
        text={() => parts.join("\n")}
      />
    </>
  );
}

function unread(total: number): Reading {
  return { text: "", total, end: 0, loading: false };
}

interface MoreProps {
  readonly item: Item;
  /** Undefined when all is here. */
  readonly reading: Reading | undefined;
  readonly store: Store;
  readonly text: () => string;
}

/** What one can do with what a call has made. */
function More({ item, reading, store, text }: MoreProps): VNode {
  const more = reading !== undefined && reading.end < reading.total;
  return (
    <div class="buttons">
      {reading?.problem && <div class="problem">{reading.problem}</div>}
      {more && reading.end < shownBytes && (
        <button aria-disabled={reading.loading} onClick={() => void readMore(store, item, readStep)}>
          {reading.end === 0
            ? l10n.t("Show All ({0})", sizeText(reading.total))
            : l10n.t("Show More ({0})", readText(reading))}
        </button>
      )}
      <button onClick={() => void showInEditor(store, item, streamOf(item).stream)}>{l10n.t("Open in Editor")}</button>
      <CopyButton text={text} store={store} label={l10n.t("Copy Output")} />
    </div>
  );
}

function Diff({ row, diff, store }: { row: ToolRowData; diff: string; store: Store }): VNode {
  const { item, reading } = row;
  const text = reading?.text || diff;
  const total = item.diffBytes ?? 0;
  const here = new TextEncoder().encode(text).length;
  const cut = total > here ? (reading ?? { ...unread(total), end: here }) : undefined;
  let room = reading ? Number.MAX_SAFE_INTEGER : shownDiffLines;
  return (
    <>
      {filesOf(text).map((file) => {
        const lines = file.lines.slice(0, room);
        room -= lines.length;
        return <FileDiff file={file} lines={lines} store={store} />;
      })}
      <More
        item={item}
        reading={cut ?? (room === 0 ? unread(total || here) : undefined)}
        store={store}
        text={() => text}
      />
    </>
  );
}

function Files({ files, store }: { files: readonly FileChange[]; store: Store }): VNode | null {
  if (files.length === 0) return null;
  const kinds: Record<FileChange["kind"], string> = {
    added: l10n.t("added"),
    changed: l10n.t("changed"),
    removed: l10n.t("removed"),
    merged: l10n.t("merged"),
  };
  return (
    <ul class="files">
      {files.map(({ path, kind }) => (
        <li key={path}>
          {kind === "removed" ? <code dir="ltr">{path}</code> : <FileButton path={path} line={0} store={store} />}{" "}
          <span class="quiet">{kinds[kind]}</span>
        </li>
      ))}
    </ul>
  );
}
