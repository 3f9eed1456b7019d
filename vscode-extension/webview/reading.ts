// Reads what the preview of an item leaves out, range by range.
import { advice } from "../src/model/text";
import type { Item, ReadOutputParams } from "../../editors/protocol";
import { utf8Length } from "../src/model/live";
import { CallError } from "./host";
import { proposes } from "./proposal";
import type { Reading } from "./rows";
import type { Store } from "./store";

type Stream = ReadOutputParams["stream"];

/** Read without being asked for more, in bytes. */
export const readAtOnce = 2 * 1024 * 1024;
const keptReadings = 16;

/** The stream of an item that its preview cuts, and where the preview ends when it is the beginning. */
export function streamOf(item: Item): { stream: Stream; text: string; total: number } {
  if (item.kind !== "toolCall") return { stream: "text", text: item.text ?? "", total: item.textBytes ?? 0 };
  if (proposes(item)) return { stream: "arguments", text: "", total: 0 };
  if (item.diff) return { stream: "diff", text: item.diff, total: item.diffBytes ?? 0 };
  return { stream: item.output?.stream ?? "stdout", text: "", total: item.output?.totalBytes ?? 0 };
}

/** Reads the next part of an item, up to limit bytes of it; what has come shows as it comes. */
export async function readMore(store: Store, item: Item, limit: number): Promise<void> {
  const { sessionId } = store;
  const { stream, text } = streamOf(item);
  const known = store.readings.get(item.id) ?? { text, total: 0, end: utf8Length(text), loading: false };
  if (!sessionId || known.loading) return;
  let reading: Reading = put(store, item.id, { text: known.text, total: known.total, end: known.end, loading: true });
  const until = reading.end + limit;
  try {
    while (reading.loading) {
      const part = await store.host.call("read", { sessionId, itemId: item.id, stream, offset: reading.end });
      if (store.readings.get(item.id) !== reading) return; // let go meanwhile
      const more = part.end > reading.end && part.end < Math.min(until, part.total);
      const end = Math.max(part.end, reading.end);
      reading = put(store, item.id, { text: reading.text + part.text, total: part.total, end, loading: more });
    }
  } catch (thrown) {
    const problem = thrown instanceof CallError ? thrown.problem : { message: String(thrown) };
    put(store, item.id, { ...reading, loading: false, problem: advice(problem) });
  }
}

/** Keeps what was read, and only of the latest items. */
function put(store: Store, id: string, reading: Reading): Reading {
  store.readings.delete(id); // so that it is the latest
  store.readings.set(id, reading);
  for (const [oldest] of [...store.readings].slice(0, -keptReadings)) store.readings.delete(oldest);
  store.changed();
  return reading;
}
