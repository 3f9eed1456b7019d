// This file watches how long the web view is busy, and when it shows something.
import type { Frame } from "playwright-core";

interface Watch {
  longest: number;
  tasks: number;
  keys: number[];
  seen: Record<string, number>;
  stop: () => void;
}

type Watching = typeof globalThis & { watch?: Watch };

/** What was seen while something happened, in milliseconds. */
export interface Seen {
  /** The longest task, 0 when none was longer than 50 ms. */
  readonly longest: number;
  /** How many were longer than 50 ms. */
  readonly tasks: number;
  /** From each key press to the next frame that shows it. */
  readonly keys: readonly number[];
  /** When words that end in "." were in the page, since 1970. */
  readonly words: Readonly<Record<string, number>>;
}

/** Does something while the page of a web view is watched. */
export async function watched(page: Frame, act: () => Promise<void>): Promise<Seen> {
  await page.evaluate(() => {
    const watch: Watch = { longest: 0, tasks: 0, keys: [], seen: {}, stop: () => undefined };
    const tasks = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        watch.tasks++;
        watch.longest = Math.max(watch.longest, duration);
      }
    });
    tasks.observe({ type: "longtask" });
    const key = (event: Event): void => {
      requestAnimationFrame(() => setTimeout(() => watch.keys.push(performance.now() - event.timeStamp)));
    };
    document.addEventListener("input", key, true);
    const changes = new MutationObserver((records) => {
      const at = performance.timeOrigin + performance.now();
      for (const { target } of records) {
        for (const [word] of (target.textContent ?? "").slice(-4096).matchAll(/\bw\d+\./g)) watch.seen[word] ??= at;
      }
    });
    changes.observe(document.body, { childList: true, characterData: true, subtree: true });
    watch.stop = () => {
      tasks.disconnect();
      changes.disconnect();
      document.removeEventListener("input", key, true);
    };
    (globalThis as Watching).watch = watch;
  });
  await act();
  return page.evaluate(async () => {
    await new Promise((done) => setTimeout(done)); // the observer hears of the last task
    const { watch } = globalThis as Watching;
    if (!watch) throw new Error("nothing is watched");
    watch.stop();
    return { longest: watch.longest, tasks: watch.tasks, keys: watch.keys, words: watch.seen };
  });
}
