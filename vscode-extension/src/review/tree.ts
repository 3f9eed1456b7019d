// The view of changes: files with their hunks, then the checkpoints.
import {
  EventEmitter,
  l10n,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  TreeItemCollapsibleState,
  Uri,
  type Disposable,
  type TreeDataProvider,
} from "vscode";
import type { FileDiff } from "../../../editors/protocol";
import { opensSelected } from "../entries";
import { agoText } from "../sessions/tree";
import type { Change, Changes, Picture } from "./changes";
import { sameRow, type Row } from "./checkpoints";
import { counts, firstChange, heading, type Hunk } from "./hunks";

export const viewId = "sandboxAgent.changes";

/** What stands in the tree. */
export type Node =
  | { readonly kind: "file"; readonly change: Change }
  | { readonly kind: "hunk"; readonly change: Change; readonly hunk: Hunk }
  | { readonly kind: "more" }
  | { readonly kind: "checkpoints" }
  | { readonly kind: "checkpoint"; readonly checkpoint: Row };

export class ChangesTree implements TreeDataProvider<Node>, Disposable {
  private readonly changed = new EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly listener: Disposable;

  constructor(private readonly changes: Changes) {
    this.listener = changes.onDidChange(() => this.changed.fire());
  }

  getChildren(node?: Node): Node[] {
    const { picture } = this.changes;
    if (!picture) return [];
    switch (node?.kind) {
      case undefined:
        return roots(picture);
      case "file":
        return node.change.hunks.map((hunk) => ({ kind: "hunk", change: node.change, hunk }));
      case "checkpoints":
        return picture.checkpoints.toReversed().map((checkpoint) => ({ kind: "checkpoint", checkpoint }));
      default:
        return [];
    }
  }

  getTreeItem(node: Node): TreeItem {
    switch (node.kind) {
      case "file":
        return this.file(node);
      case "hunk":
        return this.hunk(node);
      case "more":
        return plain(l10n.t("More differs than is shown here."), "ellipsis");
      case "checkpoints":
        return new TreeItem(l10n.t("Checkpoints"), TreeItemCollapsibleState.Collapsed);
      case "checkpoint":
        return this.checkpoint(node.checkpoint);
    }
  }

  dispose(): void {
    this.listener.dispose();
    this.changed.dispose();
  }

  private file(node: Node & { kind: "file" }): TreeItem {
    const { file, hunks } = node.change;
    const item = new TreeItem(
      Uri.file(`/${file.path}`), // for its name and the icon of its kind only
      hunks.length ? TreeItemCollapsibleState.Collapsed : TreeItemCollapsibleState.None,
    );
    const accepted = this.isAccepted(this.changes.ids(node.change));
    const folder = file.path.split("/").slice(0, -1).join("/");
    item.id = file.path;
    item.description = [folder, kindText(file), accepted && l10n.t("accepted")].filter(Boolean).join(" · ");
    item.tooltip = file.oldPath ? l10n.t("{0}, renamed from {1}", file.path, file.oldPath) : file.path;
    item.iconPath = ThemeIcon.File;
    item.contextValue = accepted ? "file;accepted" : "file";
    item.command = opensSelected(viewId);
    item.accessibilityInformation = { label: `${file.path}, ${item.description}` };
    return item;
  }

  private hunk(node: Node & { kind: "hunk" }): TreeItem {
    const { hunk, change } = node;
    const { added, removed } = counts(hunk);
    const accepted = this.isAccepted([hunk.id]);
    const line = firstChange(hunk);
    const item = new TreeItem(heading(hunk) || l10n.t("blank lines"));
    item.id = `${change.file.path}\0${hunk.id}`;
    item.description = [l10n.t("line {0}", line), sums(added, removed), accepted && l10n.t("accepted")]
      .filter(Boolean)
      .join(" · ");
    item.tooltip = hunk.lines.slice(0, 40).join("\n");
    item.iconPath = accepted
      ? new ThemeIcon("check", new ThemeColor("charts.green"))
      : new ThemeIcon(removed === 0 ? "diff-added" : added === 0 ? "diff-removed" : "diff-modified");
    item.contextValue = accepted ? "hunk;accepted" : "hunk";
    item.command = opensSelected(viewId);
    return item;
  }

  private checkpoint(checkpoint: Row): TreeItem {
    const item = new TreeItem(checkpoint.summary);
    const { picture } = this.changes;
    const base = picture !== undefined && sameRow(picture.base, checkpoint);
    const turn = checkpoint.turnId ? l10n.t("turn {0}", checkpoint.turnId) : "";
    const parts = [turn, agoText(checkpoint.at, Date.now()), base && l10n.t("compared with")];
    item.id = `checkpoint\0${checkpoint.id}\0${checkpoint.at}`;
    item.description = parts.filter(Boolean).join(" · ");
    item.tooltip = [checkpoint.summary, ...checkpoint.also, turn, new Date(checkpoint.at).toLocaleString()]
      .filter(Boolean)
      .join("\n");
    item.iconPath = new ThemeIcon(base ? "target" : "history");
    item.contextValue = "checkpoint";
    item.command = opensSelected(viewId);
    return item;
  }

  private isAccepted(ids: readonly string[]): boolean {
    const { picture } = this.changes;
    if (!picture) return false;
    const accepted = this.changes.decisions.accepted(picture.session.id);
    return ids.every((id) => accepted.has(id));
  }
}

function roots(picture: Picture): Node[] {
  const nodes: Node[] = picture.changes.map((change) => ({ kind: "file", change }));
  if (picture.truncated) nodes.push({ kind: "more" });
  return [...nodes, { kind: "checkpoints" }];
}

function plain(label: string, icon: string): TreeItem {
  const item = new TreeItem(label);
  item.iconPath = new ThemeIcon(icon);
  return item;
}

function kindText(file: FileDiff): string {
  switch (file.kind) {
    case "added":
      return file.binary ? l10n.t("new") : `${l10n.t("new")} ${sums(file.added, 0)}`;
    case "removed":
      return l10n.t("removed");
    case "renamed":
      return l10n.t("renamed");
    case "mode":
      return l10n.t("other permissions");
    case "type":
      return l10n.t("another kind of file");
    case "changed":
      return file.binary ? l10n.t("binary") : sums(file.added, file.removed);
  }
}

function sums(added: number, removed: number): string {
  return [added > 0 && `+${added.toFixed()}`, removed > 0 && `−${removed.toFixed()}`].filter(Boolean).join(" ");
}
