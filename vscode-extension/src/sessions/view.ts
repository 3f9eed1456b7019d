// The view "Sessions".
import {
  commands,
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
import { opensSelected, registerOpening } from "../entries";
import { folderName } from "../folders";
import { doingText } from "../model/text";
import type { Listing } from "./listing";
import { branches, contextValue, description, icon, title, type Branch } from "./tree";

const viewId = "sandboxAgent.sessions";

/** What a command gets when it is called from the tree. */
export interface SessionNode {
  readonly sessionId: string;
}

class Node implements SessionNode {
  readonly sessionId: string;
  forks: Node[] = [];
  looks: Looks;
  constructor(
    branch: Branch,
    readonly parent: Node | undefined,
  ) {
    this.sessionId = branch.session.id;
    this.looks = looksOf(branch);
  }
}

/** What is shown of a session. */
function looksOf({ session, forks }: Branch) {
  const where = description(session, Date.now(), folderName(session.workspaceFolder));
  const folder = Uri.parse(session.workspaceFolder).fsPath;
  return {
    title: title(session),
    where,
    icon: icon(session),
    contextValue: contextValue(session),
    tooltip: [title(session), doingText(session), session.model, folder].join("\n"),
    said: `${title(session)}, ${where}, ${doingText(session)}`,
    forks: forks.length > 0,
  };
}

type Looks = ReturnType<typeof looksOf>;

/** Which sessions there are, in their order, and what is below what. */
function shapeOf(list: readonly Branch[]): string {
  return list.map(({ session, forks }) => `${session.id}(${shapeOf(forks)})`).join();
}

/** The nodes of the tree. VS Code keeps something of each that it reads again, so it is told only of what looks different. */
export class Provider implements TreeDataProvider<Node> {
  private readonly changes = new EventEmitter<Node[] | undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  private roots: Node[] = [];
  private shape: string | undefined;
  private readonly nodes = new Map<string, Node>();

  constructor(private readonly listing: Pick<Listing, "sessions">) {
    this.changed();
  }

  changed(): void {
    const list = branches(this.listing.sessions);
    const shape = shapeOf(list);
    if (shape === this.shape) {
      const changed = list.flatMap((branch) => this.renewed(branch));
      if (changed.length > 0) this.changes.fire(changed);
      return;
    }
    this.shape = shape;
    this.nodes.clear();
    this.roots = list.map((branch) => this.add(branch));
    this.changes.fire(undefined);
  }

  /** Those that look different now, of a branch that is there already. */
  private renewed(branch: Branch): Node[] {
    const below = branch.forks.flatMap((fork) => this.renewed(fork));
    const node = this.nodes.get(branch.session.id);
    const looks = looksOf(branch);
    if (!node || JSON.stringify(looks) === JSON.stringify(node.looks)) return below;
    node.looks = looks;
    return [node, ...below];
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
    const { looks } = node;
    const { id, color } = looks.icon;
    const item = new TreeItem(
      looks.title,
      looks.forks ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.None,
    );
    item.id = node.sessionId;
    item.description = looks.where;
    item.iconPath = new ThemeIcon(id, color === undefined ? undefined : new ThemeColor(color));
    item.contextValue = looks.contextValue;
    item.tooltip = looks.tooltip;
    item.accessibilityInformation = { label: looks.said };
    item.command = opensSelected(viewId);
    return item;
  }
}

/** Shows the tree; it is kept up to date while it is visible. */
export function registerSessionsView(ctx: Ctx): Disposable[] {
  const provider = new Provider(ctx.listing);
  const view = window.createTreeView(viewId, { treeDataProvider: provider, showCollapseAll: true });
  let watching: Disposable | undefined;
  const follow = (): void => {
    watching?.dispose();
    watching = view.visible ? ctx.listing.watch() : undefined;
  };
  let shown: string | undefined;
  let revealed: string | undefined; // what we have had selected last
  // The current session is selected once it is in the tree; later the selection is the user's.
  const select = (): void => {
    const { current } = ctx.sessions;
    if (!view.visible || current === undefined || current === shown) return;
    const node = provider.find(current);
    if (!node) return;
    shown = revealed = current;
    view.reveal(node, { select: true }).then(undefined, (thrown: unknown) => {
      if (shown === current) shown = undefined; // the tree has changed meanwhile: once more with the next change
      ctx.log.warn(`selecting a session in the tree: ${String(thrown)}`);
    });
  };
  follow();
  return [
    view,
    registerOpening(viewId, view, (node) => commands.executeCommand("sandboxAgent.openSession", node)),
    view.onDidChangeSelection(({ selection: [node] }) => {
      const { current } = ctx.sessions;
      if (node && node.sessionId !== current && node.sessionId !== revealed) shown = current; // the user has chosen
    }),
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
