// Work that may take a while, told by a notification with what the session says it is doing.
import { CancellationTokenSource, Disposable, ProgressLocation, window, type CancellationToken } from "vscode";
import type { Ctx } from "../ctx";

/**
 * What takes less time than this, in milliseconds, is not told: it would only flicker, and VS Code shows no more than three
 * notifications that come at once, so that the outcome might go untold.
 */
export const unnoticed = 400;

/**
 * Shows a title, and the reasons of the session's state, until the work is done. Only what changes nothing is cancellable: what
 * changes something goes on whether or not somebody waits for it.
 */
export async function withProgress<T>(
  ctx: Pick<Ctx, "sessions">,
  title: string,
  sessionId: string | undefined,
  work: (token: CancellationToken) => Promise<T>,
  { cancellable = false } = {},
): Promise<T> {
  const source = new CancellationTokenSource();
  const working = work(source.token);
  try {
    if (await endsWithin(working, unnoticed)) return await working;
    const options = { location: ProgressLocation.Notification, title, cancellable };
    return await window.withProgress(options, async (progress, token) => {
      const until = Disposable.from(
        token.onCancellationRequested(() => source.cancel()),
        ctx.sessions.onUpdate((update) => {
          if (update.kind !== "event" || update.sessionId !== sessionId) return;
          const { event } = update.message;
          if (event.type === "state/changed") progress.report({ message: event.state.reason ?? "" });
        }),
      );
      try {
        return await working;
      } finally {
        until.dispose();
      }
    });
  } finally {
    source.dispose();
  }
}

/** Whether work has ended, well or not, after so many milliseconds. */
function endsWithin(work: Promise<unknown>, time: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), time);
    const ended = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(ended, ended);
  });
}
