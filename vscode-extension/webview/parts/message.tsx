// What people, the agent and the program say.
import * as l10n from "@vscode/l10n";
import { Component, type ComponentChild, type VNode } from "preact";
import type { Context, Item } from "../../../editors/protocol";
import { oneLine, sizeText } from "../../src/model/text";
import { CodeBox } from "../code/box";
import { codeAt, type Block, type Group } from "../markdown/blocks";
import { markdown, type DrawCode } from "../markdown/render";
import { readAtOnce, readMore } from "../reading";
import type { ConversationRow, Reading } from "../rows";
import type { Store } from "../store";
import { lastLines } from "../../src/model/terminal";
import { Approve } from "./approval";
import { CopyButton, Disclosure } from "./controls";

type RowOf<K extends ConversationRow["kind"]> = Extract<ConversationRow, { kind: K }>;

const shownOfRequest = 3000; // UTF-16 units of what the user has said

export function UserRow({ row, store }: { row: RowOf<"user">; store: Store }): VNode {
  const { item, opened, reading } = row;
  const text = reading?.text || item.text || "";
  const long = text.length > shownOfRequest || (item.textBytes ?? 0) > text.length * 3;
  const toggle = (): void => {
    store.toggle(item.id, !opened);
    if (!opened && (item.textBytes ?? 0) > text.length) void readMore(store, item, readAtOnce);
  };
  return (
    <div class="user">
      {item.steered && <div class="quiet">{l10n.t("To the running turn")}</div>}
      <div class="said" dir="auto">
        {opened || !long ? text : text.slice(0, shownOfRequest) + "…"}
      </div>
      {long && <button onClick={toggle}>{opened ? l10n.t("Show Less") : l10n.t("Show All")}</button>}
      {(item.context ?? []).length > 0 && (
        <ul class="contexts" aria-label={l10n.t("Sent along")}>
          {item.context?.map((context) => (
            <li>{contextText(context)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Something of the editor that went along, in a few words. */
export function contextText({ kind, uri, range, unsaved }: Context): string {
  const name = uri ? decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1)) : kind;
  const lines = range ? `:${range.start.line + 1}-${range.end.line + 1}` : "";
  const what = kind === "diagnostics" ? l10n.t("problems of {0}", name) : name + lines;
  return unsaved ? l10n.t("{0} (unsaved)", what) : what;
}

export function TextRow({ row, store }: { row: RowOf<"text">; store: Store }): VNode {
  const { item, group, last } = row;
  return (
    <div class="agent" aria-busy={item.status === "inProgress"}>
      <Blocks group={group} whole={row.whole} store={store} />
      {last && <Ending item={item} />}
      {last && (
        <div class="actions">
          <CopyButton text={() => row.whole} store={store} label={l10n.t("Copy Answer")} />
        </div>
      )}
    </div>
  );
}

/** How an answer ended, where that was not as it should be. */
function Ending({ item }: { item: Item }): VNode | null {
  if (item.error) return <div class="problem">{item.error}</div>;
  return item.status === "interrupted" ? <div class="quiet">{l10n.t("Interrupted")}</div> : null;
}

function Blocks({ group, whole, store }: { group: Group; whole: string; store: Store }): VNode {
  return (
    <>
      {group.blocks.map((block, i) => (
        <MarkdownBlock key={i} block={block} definitions={group.definitions} whole={whole} store={store} />
      ))}
    </>
  );
}

interface BlockProps {
  readonly block: Block;
  readonly definitions: string;
  readonly whole: string;
  readonly store: Store;
}

/** A closed block is the same object for ever, so only the open one is drawn again. */
class MarkdownBlock extends Component<BlockProps> {
  override shouldComponentUpdate(next: BlockProps): boolean {
    const { block, definitions, whole } = this.props;
    return block !== next.block || definitions !== next.definitions || (block.kind === "code" && whole !== next.whole);
  }

  override render({ block, definitions, whole, store }: BlockProps): ComponentChild {
    if (block.kind === "markdown") return markdown(block.text, definitions, innerCode(block.open, store));
    return (
      <CodeBox
        text={block.text}
        info={block.fence?.info ?? ""}
        first={block.first}
        last={block.last}
        open={block.open}
        before={() => whole.slice(block.from, block.from + block.at)}
        whole={() => codeAt(whole, block)}
        store={store}
      />
    );
  }
}

/** Draws code that is within something else, such as a list. */
function innerCode(open: boolean, store: Store): DrawCode {
  const nothing = (): string => "";
  return (text, info) => (
    <CodeBox text={text} info={info} first last open={open} before={nothing} whole={() => text} store={store} />
  );
}

/** The rest of a long message comes by itself, unless it is very long. */
export class RestRow extends Component<{ row: RowOf<"rest">; store: Store }> {
  override componentDidMount(): void {
    const { row, store } = this.props;
    if ((row.item.textBytes ?? 0) <= readAtOnce && !row.reading) void readMore(store, row.item, readAtOnce);
  }

  override render({ row, store }: { row: RowOf<"rest">; store: Store }): ComponentChild {
    const { item, reading } = row;
    return (
      <div class="rest">
        {reading?.problem && <div class="problem">{reading.problem}</div>}
        {reading?.loading ? (
          <span class="quiet">{l10n.t("Reading…")}</span>
        ) : (
          <button onClick={() => void readMore(store, item, readAtOnce)}>
            {l10n.t("Show More of {0}", sizeText(item.textBytes ?? 0))}
          </button>
        )}
        <button onClick={() => void showInEditor(store, item, "text")}>{l10n.t("Open in Editor")}</button>
      </div>
    );
  }
}

/** Shows all of a stream of an item in an editor. */
export function showInEditor(
  store: Store,
  item: Item,
  stream: "text" | "diff" | "stdout" | "stderr" | "arguments",
): Promise<boolean> {
  const sessionId = store.sessionId ?? "";
  return store.attempt(() => store.host.call("show", { sessionId, itemId: item.id, stream }));
}

export function ThinkingRow({ row }: { row: RowOf<"thinking"> }): VNode {
  const { item, live } = row;
  if (item.status !== "inProgress") {
    return (
      <div class="agent">
        <Ending item={item} />
      </div>
    );
  }
  const thought = live?.reasoning ? oneLine(lastLines(live.reasoning, 2)) : "";
  return (
    <div class="thinking" dir="auto">
      <span class="pulse" aria-hidden="true" />
      {thought.slice(-200) || l10n.t("Waiting for the model…")}
    </div>
  );
}

export function ReasoningRow({ row, store }: { row: RowOf<"reasoning">; store: Store }): VNode {
  const { item, opened } = row;
  const text = item.text ?? "";
  const title = oneLine(text.split("\n", 1)[0]?.replace(/^\*+(.*?)\*+$/, "$1") ?? "");
  return (
    <Disclosure
      class="reasoning"
      open={opened}
      onToggle={() => store.toggle(item.id, !opened)}
      head={
        <>
          <span class="quiet">{l10n.t("Thought")}</span> <span dir="auto">{title}</span>
        </>
      }
    >
      <div class="agent">{markdown(text.slice(0, 64 * 1024), "", innerCode(false, store))}</div>
    </Disclosure>
  );
}

export function NoticeRow({ row, store }: { row: RowOf<"notice">; store: Store }): VNode {
  return (
    <div class="notice" dir="auto">
      <div class="said">{row.item.text || row.item.error}</div>
      {row.approval && <Approve key={row.approval.id} approval={row.approval} store={store} />}
    </div>
  );
}

/** What an edge of the conversation offers. */
export function EdgeRow({ row, store }: { row: RowOf<"older" | "newer">; store: Store }): VNode {
  if (row.kind === "newer") {
    return (
      <div class="edge">
        <button onClick={() => store.newest()}>{l10n.t("Go to the Newest")}</button>
      </div>
    );
  }
  return (
    <div class="edge">
      {store.loadingOlder ? (
        l10n.t("Reading older ones…")
      ) : (
        <button onClick={() => void store.older()}>{l10n.t("Show Older")}</button>
      )}
    </div>
  );
}

/** How much of something was read, for those who may want more. */
export function readText(reading: Reading): string {
  return l10n.t("{0} of {1}", sizeText(reading.end), sizeText(reading.total));
}
