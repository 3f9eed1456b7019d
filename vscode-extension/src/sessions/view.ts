// The view "Sessions".
import {
  EventEmitter,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  TreeItemCollapsibleState,
  Uri,
  window,
  type Disposable,
  type TreeDataProvider,
} from "vscode";
import type { Ctx } from "../ctx";
import { folderName } from "../folders";
import { doingText } from "../model/text";
import { branches, contextValue, description, icon, title, type Branch } from "./tree";

/** What a command gets when it is called from the tree. */
export interface SessionNode {
  readonly sessionId: string;
}

class Node implements SessionNode {
  readonly sessionId: string;
  forks: Node[] = [];
  constructor(
    readonly branch: Branch,
    readonly parent: Node | undefined,
  ) {
    this.sessionId = branch.session.id;
  }
}

class Provider implements TreeDataProvider<Node> {
  private readonly changes = new EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;
  private roots: Node[] = [];
  private readonly nodes = new Map<string, Node>();

  constructor(private readonly ctx: Ctx) {
    this.changed();
  }

  changed(): void {
    this.nodes.clear();
    this.roots = branches(this.ctx.listing.sessions).map((branch) => this.add(branch));
    this.changes.fire();
  }

  find(id: string): Node | undefined {
    return this.nodes.get(id);
  }

  getChildren(parent?: Node): Node[] {
    return parent ? parent.forks : this.roots;
  }

  getParent(node: Node): Node | undefined {
    return node.parent;
  }

  private add(branch: Branch, parent?: Node): Node {
    const node = new Node(branch, parent);
    node.forks = branch.forks.map((fork) => this.add(fork, node));
    this.nodes.set(node.sessionId, node);
    return node;
  }

  getTreeItem(node: Node): TreeItem {
    const { session, forks } = node.branch;
    const item = new TreeItem(
      title(session),
      forks.length > 0 ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.None,
    );
    const { id, color } = icon(session);
    item.id = session.id;
    item.description = description(session, Date.now(), folderName(session.workspaceFolder));
    item.iconPath = new ThemeIcon(id, color === undefined ? undefined : new ThemeColor(color));
    item.contextValue = contextValue(session);
    const folder = Uri.parse(session.workspaceFolder).fsPath;
    item.tooltip = [title(session), doingText(session), session.model, folder].join("\n");
    item.accessibilityInformation = { label: `${title(session)}, ${item.description}, ${doingText(session)}` };
    item.command = { command: "sandboxAgent.openSession", title: "", arguments: [node] };
    return item;
  }
}

/** Shows the tree; it is kept up to date while it is visible. */
export function registerSessionsView(ctx: Ctx): Disposable[] {
  const provider = new Provider(ctx);
  const view = window.createTreeView("sandboxAgent.sessions", { treeDataProvider: provider, showCollapseAll: true });
  let watching: Disposable | undefined;
  const follow = (): void => {
    watching?.dispose();
    watching = view.visible ? ctx.listing.watch() : undefined;
  };
  let shown: string | undefined;
  // The current session is selected once it is in the tree; later the selection is the user's.
  const select = (): void => {
    const { current } = ctx.sessions;
    if (!view.visible || current === undefined || current === shown) return;
    const node = provider.find(current);
    if (!node) return;
    shown = current;
    view.reveal(node, { select: true }).then(undefined, (thrown: unknown) => {
      if (shown === current) shown = undefined; // the tree has changed meanwhile: once more with the next change
      ctx.log.warn(`selecting a session in the tree: ${String(thrown)}`);
    });
  };
  follow();
  return [
    view,
    view.onDidChangeVisibility(() => {
      follow();
      select();
    }),
    ctx.listing.onDidChange(() => {
      provider.changed();
      select();
    }),
    ctx.sessions.onDidChangeCurrent(select),
    { dispose: () => void watching?.dispose() },
  ];
}
