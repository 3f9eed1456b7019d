// The commands that talk to the agent.
import assert from "node:assert/strict";
import { until } from "../harness/wait.ts";
import { idle, items, latest, say, type Cases } from "./steps.ts";

export const asking: Cases = {
  ask: async ({ keys, conversation, at }) => {
    await keys.press("Control+K", "Control+Y");
    await keys.enter("hello");
    await conversation.log.getByText("You said: hello").waitFor();
    await idle(at);
  },
  askAboutSelection: async ({ keys, at, conversation }) => {
    await keys.open("greeting.txt");
    await keys.press("Control+A");
    await keys.command("Ask About Selection…");
    await keys.enter("what is this");
    await conversation.log.getByText("You said: what is this").waitFor();
    const request = (await items(at, await latest(at))).find(({ text }) => text === "what is this");
    assert.equal(request?.context?.[0]?.kind, "selection");
    await idle(at);
  },
  steer: async (world) => {
    const { keys, at, conversation } = world;
    await say(world, "wait for me");
    await conversation.button("Stop Command").waitFor();
    await keys.command("Steer…");
    await keys.enter("be quick");
    await conversation.log.getByText("be quick").waitFor();
    const steered = (await items(at, await latest(at))).find(({ text }) => text === "be quick");
    assert.equal(steered?.steered, true);
  },
  queue: async ({ keys, at, conversation, window }) => {
    const waiting = async () => {
      const lists = (await at.agent("queue", (await latest(at)).id)) as { queued: { text: string }[] }[];
      return lists.flatMap(({ queued }) => queued.map(({ text }) => text));
    };
    await keys.command("Queue…");
    await keys.pick("Add a request");
    await keys.enter("after that");
    await conversation.frame.locator(".queue").getByText("after that").waitFor();
    assert.deepEqual(await waiting(), ["after that"]);
    await keys.command("Queue…");
    await keys.pick("after that");
    await keys.pick("Edit");
    await keys.enter("after all");
    await until("the change", async () => (await waiting()).includes("after all"));
    await keys.command("Queue…");
    await keys.pick("after all");
    await keys.pick("Remove");
    await until("its end", async () => (await waiting()).length === 0);
    await window.quick.waitFor({ state: "hidden" });
  },
  stopCommand: async ({ keys, at, conversation }) => {
    await keys.command("Stop Command…");
    await keys.pick("sleep");
    await conversation.button("Stop Command").waitFor({ state: "detached" });
    await conversation.log.getByText("You said: be quick").waitFor();
    await idle(at);
  },
  interrupt: async (world) => {
    const { keys, at, conversation } = world;
    for (const interrupt of [() => keys.press("Control+K", "Control+Backspace"), () => keys.command("Interrupt")]) {
      await say(world, "wait for me");
      await conversation.button("Stop Command").waitFor();
      await interrupt();
      await conversation.button("Stop Command").waitFor({ state: "detached" });
      await idle(at);
    }
    assert.equal(await conversation.log.getByText("Waited.").count(), 0);
  },
};
