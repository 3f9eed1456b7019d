// What the cases of this folder have in common.
import assert from "node:assert/strict";
import type { Item, Session } from "../../../../editors/protocol.ts";
import type { Installation } from "../harness/installation.ts";
import type { World } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

/** What is done by keys alone, and what has to come of it. */
export type Case = (world: World) => Promise<void>;

/** Cases by the name of a command without "sandboxAgent.", in the order in which they are tried: each goes on where the one before has ended. */
export type Cases = Readonly<Record<string, Case>>;

/** The session that was used last. */
export async function latest(at: Installation): Promise<Session> {
  const [session] = await at.sessions();
  assert.ok(session, "there is a session");
  return session;
}

/** The items of a session, oldest first. */
export async function items(at: Installation, session: Session): Promise<Item[]> {
  const pages = (await at.agent("history", session.id)) as { items: Item[] }[];
  return pages.flatMap((page) => page.items);
}

/** Waits until no turn of the latest session runs. */
export async function idle(at: Installation): Promise<void> {
  await until("the end of the turn", async () => (await latest(at)).state.status === "idle");
}

/** Asks in the conversation, by its input. */
export async function say({ keys, conversation }: World, text: string): Promise<void> {
  await keys.command("Focus on Conversation View");
  await keys.part(conversation.input);
  await keys.type(text);
  await keys.press("Enter");
}

/** Has the agent ask whether a command may run. */
export async function asked(world: World, text: string): Promise<void> {
  await say(world, text);
  await world.conversation.button("Allow").waitFor();
}
