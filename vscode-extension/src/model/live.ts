// What an item has produced so far, from deltas: fast, lossy, and void as soon as item/completed or a higher attempt comes.
import type { ItemDeltaEvent } from "../../../editors/protocol";

/** Kept of the end of a running command's output, in UTF-16 units. */
export const keptOutput = 16 * 1024;
/** Kept of a message while it streams, in UTF-16 units, about; a longer one is read when it is complete. */
export const keptText = 4 * 1024 * 1024;
/** Kept of the end of a model's reasoning. */
export const keptReasoning = 64 * 1024;

/** The pieces of one item's highest attempt. */
export interface Live {
  readonly attempt: number;
  /** The next n of each stream. */
  readonly next: Readonly<Partial<Record<ItemDeltaEvent["stream"], number>>>;
  readonly text: string;
  /** Of text, in UTF-8. */
  readonly textBytes: number;
  readonly reasoning: string;
  /** The end of what a command printed on either stream. */
  readonly output: string;
  /** Where pieces are missing. */
  readonly lost: boolean;
  /** Made by an attachment that has ended: shown until the first piece of the next one comes, which begins from 0. */
  readonly stale: boolean;
}

const nothing: Live = {
  attempt: 0,
  next: {},
  text: "",
  textBytes: 0,
  reasoning: "",
  output: "",
  lost: false,
  stale: false,
};

/** Stands where a piece was lost. */
const lostMark = "…\n";

/** What is known after a delta; the very same value when the delta says nothing new. */
export function grown(known: Live | undefined, delta: ItemDeltaEvent): Live | undefined {
  if (known && !known.stale && delta.attempt < known.attempt) return known;
  const anew = !known || known.stale || delta.attempt > known.attempt;
  const live = anew ? { ...nothing, attempt: delta.attempt } : known;
  const expected = live.next[delta.stream] ?? 0;
  if (delta.n < expected) return known;
  const lost = delta.n > expected;
  const data = decoded(delta);
  return {
    ...live,
    ...addition(live, delta.stream, lost ? lostMark + data : data),
    next: { ...live.next, [delta.stream]: delta.n + 1 },
    lost: live.lost || (lost && delta.stream === "text"),
  };
}

function addition(live: Live, stream: ItemDeltaEvent["stream"], data: string): Partial<Live> {
  switch (stream) {
    case "text":
      if (live.text.length >= keptText) return { lost: true };
      return { text: live.text + data, textBytes: live.textBytes + utf8Length(data) };
    case "reasoning":
      return { reasoning: end(live.reasoning + data, keptReasoning) };
    case "stdout":
    case "stderr":
      return { output: end(live.output + data, keptOutput) };
    case "arguments":
      return {}; // the call is shown when it is complete
    default:
      return {}; // a stream of a newer server
  }
}

/** The end of text; it may be twice as long as asked, so that not every piece costs a copy. */
function end(text: string, length: number): string {
  return text.length <= 2 * length ? text : text.slice(-length);
}

/** The length of text in UTF-8. */
export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Data of the contract as text; bytes that are no UTF-8 show as U+FFFD. */
export function decoded({ data, encoding }: { data: string; encoding: "utf8" | "base64" }): string {
  if (encoding !== "base64") return data;
  return new TextDecoder().decode(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
}
