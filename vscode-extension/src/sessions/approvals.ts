// The view "Approvals": what waits for an answer in the sessions of this window, with a badge that counts it.
import {
  commands,
  EventEmitter,
  l10n,
  ThemeIcon,
  TreeItem,
  window,
  type Disposable,
  type TreeDataProvider,
} from "vscode";
import type { Ctx } from "../ctx";
import { opensSelected, registerOpening } from "../entries";
import { oneLine } from "../model/text";
import { title } from "./tree";
import type { Pending } from "./waiting";

const viewId = "sandboxAgent.approvals";

class Provider implements TreeDataProvider<Pending> {
  private readonly changes = new EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;

  constructor(private readonly ctx: Ctx) {}

  changed(): void {
    this.changes.fire();
  }

  getChildren(parent?: Pending): Pending[] {
    return parent ? [] : [...this.ctx.waiting.all];
  }

  getTreeItem(node: Pending): TreeItem {
    const { approval, sessionId } = node;
    const item = new TreeItem(oneLine(approval.subject) || approval.tool);
    const session = this.ctx.sessions.get(sessionId)?.session;
    item.id = approval.id;
    item.description = session ? title(session) : "";
    item.iconPath = new ThemeIcon("bell-dot");
    item.contextValue = "approval";
    item.tooltip = `${approval.tool}: ${approval.subject}\n\n${approval.reason}`;
    item.accessibilityInformation = {
      label: l10n.t(
        "{0} asks to run {1}: {2}. {3}",
        item.description,
        approval.tool,
        approval.subject,
        approval.reason,
      ),
    };
    item.command = opensSelected(viewId);
    return item;
  }
}

/** Shows the view. */
export function registerApprovalsView(ctx: Ctx): Disposable[] {
  const provider = new Provider(ctx);
  const view = window.createTreeView(viewId, { treeDataProvider: provider });
  const update = (): void => {
    const value = ctx.waiting.all.length;
    view.badge = value === 0 ? undefined : { value, tooltip: l10n.t("{0} waiting for your answer", value) };
    provider.changed();
  };
  return [
    view,
    registerOpening(viewId, view, (node) => commands.executeCommand("sandboxAgent.openApproval", node)),
    ctx.waiting.onDidChange(update),
  ];
}
