// What the user has asked before, one step back or forth at a time, as shells do it.
import type { Item } from "../../editors/protocol";

/** The requests of a conversation, oldest first, each once in a row. */
export function requestsOf(items: readonly Item[]): readonly string[] {
  const texts = items.filter((item) => item.kind === "userMessage" && item.text).map((item) => item.text ?? "");
  return texts.filter((text, i) => text !== texts[i - 1]);
}

export class Recall {
  private at: number | undefined; // in the requests, from the newest
  private draft = "";

  /** The request before the one that is shown; undefined when there is none. */
  back(requests: readonly string[], text: string): string | undefined {
    const to = (this.at ?? -1) + 1;
    const found = requests[requests.length - 1 - to];
    if (found === undefined) return undefined;
    if (this.at === undefined) this.draft = text;
    this.at = to;
    return found;
  }

  /** The request after it, in the end what was being written; undefined when nothing is recalled. */
  forth(requests: readonly string[]): string | undefined {
    if (this.at === undefined) return undefined;
    this.at = this.at === 0 ? undefined : this.at - 1;
    return this.at === undefined ? this.draft : requests[requests.length - 1 - this.at];
  }

  /** Something was written: what is recalled is a text like any other. */
  end(): void {
    this.at = undefined;
  }

  get active(): boolean {
    return this.at !== undefined;
  }
}
