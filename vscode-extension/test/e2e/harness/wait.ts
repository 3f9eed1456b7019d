// This file waits: for conditions, never for a time.
import { setTimeout as pause } from "node:timers/promises";

/** How long anything may take, in milliseconds, before a test gives up. The machines of CI are busy. */
export const patience = Number(process.env.PATIENCE ?? 60_000);

/** Looks until the condition holds, and returns what it found; an error says what was waited for. */
export async function until<T>(
  what: string | (() => string),
  condition: () => T | Promise<T>,
  milliseconds = patience,
): Promise<Exclude<T, false | null | undefined>> {
  const end = Date.now() + milliseconds;
  for (;;) {
    const found = await condition();
    if (found) {
      return found as Exclude<T, false | null | undefined>;
    }
    if (Date.now() > end) {
      throw new Error(`timed out: ${typeof what === "string" ? what : what()}`);
    }
    await pause(25);
  }
}
