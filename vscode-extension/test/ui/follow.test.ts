// The end of the conversation is followed until its user scrolls up, whatever grows or shrinks meanwhile.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import type { EventMessage } from "../../../editors/protocol";
import { approval, at, item, message, session, snapshot } from "../unit/model/make";
import { launch, open } from "./page";

/** The same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What a session does next: some items begin or end, and what is said of it changes. */
class Busy {
  seq = 0;
  private open: { id: string; seq: number; kind: "agentMessage" | "toolCall"; n: number } | undefined;
  private asked = false;

  constructor(private readonly random: (below: number) => number) {}

  private durable(event: EventMessage["event"]): EventMessage {
    return message(++this.seq, event);
  }

  next(): EventMessage {
    const { random, open } = this;
    switch (random(open ? 5 : 3)) {
      case 0:
        return this.state();
      case 1:
        return open ? this.end(open) : this.begin();
      case 2:
        return open ? this.grow(open) : this.begin();
      case 3:
        return this.ask();
      default:
        return open ? this.grow(open) : this.state();
    }
  }

  private words(most: number): string {
    return "some words of it ".repeat(1 + this.random(most));
  }

  private state(): EventMessage {
    const reason = this.random(3) === 0 ? {} : { reason: this.words(12) };
    return this.durable({ type: "state/changed", state: { status: "running", since: at, ...reason } });
  }

  private begin(): EventMessage {
    const kind = this.random(2) === 0 ? "agentMessage" : "toolCall";
    this.open = { id: `i${this.seq + 1}`, seq: this.seq + 1, kind, n: 0 };
    return this.durable({ type: "item/started", item: { ...this.item(), status: "inProgress" } });
  }

  private item(): ReturnType<typeof item> {
    const { seq = 0, kind = "agentMessage" } = this.open ?? {};
    return item(seq, { kind, ...(kind === "toolCall" ? { tool: "exec_command", text: this.words(3) } : {}) });
  }

  private grow(open: NonNullable<Busy["open"]>): EventMessage {
    const stream = open.kind === "toolCall" ? "stdout" : "text";
    const data = `${this.words(20)}${this.random(2) === 0 ? "\n\n" : ""}`;
    const delta = { itemId: open.id, attempt: 1, n: open.n++, stream, data, encoding: "utf8" } as const;
    return message(open.seq, { type: "item/delta", ...delta });
  }

  private ask(): EventMessage {
    this.asked = !this.asked;
    const asked = approval("a1", { itemId: this.open?.id ?? "", reason: this.words(10) });
    return this.durable({ type: this.asked ? "approval/requested" : "approval/resolved", approval: asked });
  }

  private end(open: NonNullable<Busy["open"]>): EventMessage {
    const output = { head: "a line\n".repeat(this.random(30)), totalBytes: 210, stream: "stdout" as const };
    const change = open.kind === "toolCall" ? { output } : { text: this.words(60) };
    const ended = this.durable({ type: "item/completed", item: { ...this.item(), ...change } });
    this.open = undefined;
    return ended;
  }
}

describe("the end of the conversation", () => {
  let browser: Browser;
  before(async () => (browser = await launch()));
  after(() => browser.close());

  it("is followed through everything that happens while nobody scrolls", async () => {
    const host = await open(browser, { width: 300, height: 420 });
    const { page } = host;
    const state = { status: "running" as const, since: at };
    await host.show(snapshot(0, [], { session: session({ state }), state }));
    const random = numbers(7);
    const busy = new Busy(random);
    for (let step = 0; step < 150; step++) {
      await host.send(...Array.from({ length: 1 + random(6) }, () => busy.next()));
      if (random(4) === 0) await page.setViewportSize({ width: 280 + 20 * random(3), height: 380 + 20 * random(4) });
      const left = await page.evaluate(() => document.querySelector(".to-end") !== null);
      assert.equal(left, false, `step ${step}: nobody has scrolled`);
    }
    await page.waitForFunction(() => {
      const list = document.querySelector(".list");
      return list !== null && list.scrollHeight - list.scrollTop - list.clientHeight < 2;
    });
    assert.deepEqual(host.errors, []);
    await page.context().close();
  });

  it("is gone to by who asks while reading above, and not by who lets a request wait", async () => {
    const host = await open(browser, { width: 300, height: 420 });
    const { page } = host;
    const said = Array.from({ length: 40 }, (_, i) => item(i + 1, { text: `answer ${i + 1}` }));
    await host.show(snapshot(40, said));
    const above = page.locator(".to-end");
    const input = page.getByRole("textbox", { name: "Message to the agent" });
    const ask = async (queued: boolean): Promise<void> => {
      host.answer.ask = () => ({ sessionId: "s1", queued });
      await input.fill("and now");
      await input.press("Enter");
      await page.waitForFunction(() => document.querySelector("textarea")?.value === "");
    };
    await page.locator(".row").last().focus();
    await page.keyboard.press("Home");
    await above.waitFor();
    await ask(true);
    assert.equal(await above.count(), 1, "what waits is not in the conversation yet");
    await ask(false);
    await above.waitFor({ state: "detached" });
    await host.send(message(41, { type: "item/started", item: item(41, { kind: "userMessage", text: "and now" }) }));
    await page.getByText("and now").waitFor();
    assert.deepEqual(host.errors, []);
    await page.context().close();
  });
});
