// Work that may take a while, told by a notification with what the session says it is doing.
import { ProgressLocation, window, type CancellationToken } from "vscode";
import type { Ctx } from "../ctx";

/**
 * Shows a title, and the reasons of the session's state, until the work is done. Only what changes nothing is cancellable: what
 * changes something goes on whether or not somebody waits for it.
 */
export function withProgress<T>(
  ctx: Ctx,
  title: string,
  sessionId: string | undefined,
  work: (token: CancellationToken) => Promise<T>,
  { cancellable = false } = {},
): Thenable<T> {
  const options = { location: ProgressLocation.Notification, title, cancellable };
  return window.withProgress(options, async (progress, token) => {
    const following = ctx.sessions.onUpdate((update) => {
      if (update.kind !== "event" || update.sessionId !== sessionId || update.message.event.type !== "state/changed")
        return;
      progress.report({ message: update.message.event.state.reason ?? "" });
    });
    try {
      return await work(token);
    } finally {
      following.dispose();
    }
  });
}
