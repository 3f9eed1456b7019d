// Work that may take a while, told by a notification with what the session says it is doing.
import { ProgressLocation, window } from "vscode";
import type { Ctx } from "../ctx";

/** Shows a title, and the reasons of the session's state, until the work is done. */
export function withProgress<T>(
  ctx: Ctx,
  title: string,
  sessionId: string | undefined,
  work: () => Promise<T>,
): Thenable<T> {
  return window.withProgress({ location: ProgressLocation.Notification, title }, async (progress) => {
    const following = ctx.sessions.onUpdate((update) => {
      if (update.kind !== "event" || update.sessionId !== sessionId || update.message.event.type !== "state/changed")
        return;
      progress.report({ message: update.message.event.state.reason ?? "" });
    });
    try {
      return await work();
    } finally {
      following.dispose();
    }
  });
}
