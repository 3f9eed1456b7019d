// The context keys that menus, welcome texts and key bindings depend on.
import { commands, type Disposable } from "vscode";
import type { Ctx } from "./ctx";
import { busy } from "./model/session";

/** Keeps the keys up to date. */
export function followContext(ctx: Ctx): Disposable[] {
  const told = new Map<string, unknown>();
  const set = (key: string, value: unknown): void => {
    if (told.get(key) === value) return;
    told.set(key, value);
    void commands.executeCommand("setContext", `sandboxAgent.${key}`, value);
  };
  const update = (): void => {
    const view = ctx.sessions.currentView;
    set("session", view !== undefined);
    set("turnRuns", view !== undefined && busy(view));
    set("fork", Boolean(view?.session?.parentId));
    set("approvalPending", ctx.waiting.all.length > 0);
    set("listed", ctx.listing.ready);
  };
  update();
  return [
    ctx.sessions.onDidChangeCurrent(update),
    ctx.sessions.onUpdate(update),
    ctx.waiting.onDidChange(update),
    ctx.listing.onDidChange(update),
  ];
}
