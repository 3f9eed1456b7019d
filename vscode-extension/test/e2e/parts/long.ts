// Long sessions, made from a terminal while a window may show them.
import assert from "node:assert/strict";
import type { EventMessage } from "../../../../editors/protocol.ts";
import type { Installation } from "../harness/installation.ts";
import { callsAtOnce } from "../script.ts";

/** Whether the sizes are those that are promised; else they are smaller ones that take minutes. */
export const full = Boolean(process.env.SANDBOX_TEST_FULL);

/** Asks, waits for the end of the turn, and returns how many items it has. Nothing waits for an answer. */
export async function turn(at: Installation, session: string, text: string): Promise<number> {
  const messages = (await at.agent("ask", "--session", session, "--approve", "auto", text)) as EventMessage[];
  const last = messages.at(-1)?.event;
  assert.ok(last?.type === "turn/completed" && last.status === "completed", JSON.stringify(last));
  return messages.filter(({ event }) => event.type === "item/completed").length;
}

/** What is asked for in one of the turns of a session with many items. */
export const lookAtEverything = (turn: number): string => `look at everything, time ${turn}`;

/** Makes a session with so many items, and a few more; returns its id and how many there are. */
export async function manyItems(at: Installation, folder: string, wanted: number): Promise<[string, number]> {
  const [made] = (await at.agent("new", "--workspace", folder, "--title", "Many items")) as [
    { session: { id: string } },
  ];
  let items = 0;
  for (let n = 1; items < wanted; n++) {
    items += await turn(at, made.session.id, lookAtEverything(n));
  }
  assert.ok(items < wanted + 2 * callsAtOnce, `${items} items`);
  return [made.session.id, items];
}
