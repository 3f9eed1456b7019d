// Long conversations, long answers and long lives: what exists on the page stays small, and every frame short.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, CDPSession, Page } from "playwright-core";
import type { EventMessage, Item } from "../../../editors/protocol";
import { at, completed, delta, item, message, session, snapshot, started } from "../unit/model/make";
import { launch, open } from "./page";
import { answer, diff } from "./samples";

const output = { head: "a line of output\n".repeat(20), totalBytes: 340, stream: "stdout" as const };

/** Items as a busy conversation has them: four a turn. */
function conversation(count: number, from = 1): Item[] {
  const kinds: Partial<Item>[] = [
    { kind: "userMessage", text: "Please look at this, and tell what is wrong with it." },
    { kind: "toolCall", tool: "exec_command", text: "go test ./...", output },
    { kind: "toolCall", tool: "apply_patch", text: "change parse.go", diff },
    { text: answer },
  ];
  return Array.from({ length: count }, (_, i) =>
    item(from + i, { ...kinds[(from + i - 1) % 4], turnId: Math.ceil((from + i) / 4) }),
  );
}

function nodes(page: Page): Promise<number> {
  return page.evaluate(() => document.querySelectorAll("*").length);
}

async function heap(cdp: CDPSession): Promise<number> {
  for (let i = 0; i < 3; i++) await cdp.send("HeapProfiler.collectGarbage");
  return (await cdp.send("Runtime.getHeapUsage")).usedSize;
}

/** Milliseconds of script, style and layout that something costs in the page. */
async function cost(cdp: CDPSession, what: () => Promise<void>): Promise<number> {
  const spent = async (): Promise<number> => {
    const { metrics } = await cdp.send("Performance.getMetrics");
    return metrics.filter(({ name }) => name === "TaskDuration").reduce((sum, { value }) => sum + value * 1000, 0);
  };
  const before = await spent();
  await what();
  return (await spent()) - before;
}

describe("the page, with much to show,", () => {
  let browser: Browser;
  before(async () => (browser = await launch()));
  after(() => browser.close());

  it("scrolls up through 10,000 items without a jump and with few of them on the page", async (t) => {
    const all = conversation(10_000);
    const host = await open(browser);
    const { page } = host;
    host.answer.older = ({ first }) => ({
      items: all.filter(({ seq }) => seq >= first - 100 && seq < first),
      ...(first > 101 ? { before: String(first - 100) } : {}),
    });
    await host.show(snapshot(10_000, all.slice(-200), { before: "9801" }));
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" }); // of the page's own, however busy the machine is
    let most = 0;
    let pages = 0;
    const spent = await cost(cdp, async () => {
      for (; pages < 98; pages++) {
        const asked = host.called("older").length;
        const anchor = await page.evaluate(async () => {
          const list = document.querySelector(".list");
          if (!list) throw new Error("no list");
          list.scrollTop = 300;
          for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
          const row = [...document.querySelectorAll<HTMLElement>(".row")].find(
            (e) => e.getBoundingClientRect().top >= list.getBoundingClientRect().top,
          );
          return { key: row?.dataset.key ?? "", top: row?.getBoundingClientRect().top ?? 0 };
        });
        while (host.called("older").length === asked && pages < 97)
          await page.evaluate(() => new Promise(requestAnimationFrame));
        await page.waitForFunction(() => !document.querySelector(".edge")?.textContent.includes("Reading"));
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        const now = await page.evaluate(
          (key) => document.querySelector(`[data-key="${key}"]`)?.getBoundingClientRect().top,
          anchor.key,
        );
        if (now !== undefined)
          assert.ok(
            Math.abs(now - anchor.top) < 400,
            `page ${pages}: ${anchor.key} moved from ${anchor.top} to ${now}`,
          );
        most = Math.max(most, await nodes(page));
      }
    });
    t.diagnostic(`nodes at most ${most}; ${Math.round(spent / pages)} ms of work for each page of 100 items`);
    assert.ok(most < 4000, `${most} nodes`);
    assert.ok(host.called("older").length >= 95, `${host.called("older").length} pages`);
    const scrolling = await cost(cdp, () =>
      page.evaluate(async () => {
        const list = document.querySelector(".list");
        if (!list) throw new Error("no list");
        for (let i = 0; i < 100; i++) {
          list.scrollTop += 700;
          await new Promise(requestAnimationFrame);
        }
      }),
    );
    t.diagnostic(`${(scrolling / 100).toFixed(1)} ms of work for each screen scrolled through 10,000 items`);
    assert.ok(scrolling / 100 < 50, `${scrolling / 100} ms`);
    assert.deepEqual(host.errors, []);
    await page.context().close();
  });

  it("streams an answer of 1 MB with few nodes and short frames", async (t) => {
    const host = await open(browser);
    const { page } = host;
    const state = { status: "running" as const, since: at };
    await host.show(snapshot(0, [], { session: session({ state }), state }));
    await host.send(started(1));
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" }); // of the page's own, however busy the machine is
    const part = answer.replace(/\p{Emoji_Presentation}|\u200d/gu, ""); // so that pieces end between characters
    const count = Math.ceil((1024 * 1024) / part.length);
    const text = Array.from({ length: count }, (_, i) => `## Part ${i}\n\n${part}`).join("\n");
    const piece = 4096;
    const works: number[] = [];
    for (let n = 0; n * piece < text.length; n++) {
      works.push(await cost(cdp, () => host.send(delta(1, n, text.slice(n * piece, (n + 1) * piece)))));
    }
    const most = await nodes(page);
    const sorted = works.toSorted((a, b) => a - b);
    const [middle = 0, late = 0] = [sorted[Math.floor(sorted.length / 2)], sorted[Math.floor(sorted.length * 0.95)]];
    t.diagnostic(
      `${most} nodes; a frame with 4 KiB more costs ${middle.toFixed(1)} ms, 95 % less than ${late.toFixed(1)} ms`,
    );
    assert.ok(most < 4000, `${most} nodes`);
    assert.ok(middle < 50, `${middle} ms`);
    const end = await page.evaluate(() => {
      const list = document.querySelector(".list");
      return list ? list.scrollHeight - list.scrollTop - list.clientHeight : 1e9;
    });
    assert.ok(end < 30, `the end is ${end} pixels away`);
    await host.send(completed(2, 1, { text: text.slice(0, 8192), textBytes: Buffer.byteLength(text) }));
    assert.deepEqual(host.called("read"), [], "all of it was streamed");
    assert.ok((await nodes(page)) < 4000);
    assert.deepEqual(host.errors, []);
    await page.context().close();
  });

  it("takes no more memory after 500 turns than after 200", async (t) => {
    const host = await open(browser);
    const cdp = await host.page.context().newCDPSession(host.page);
    await host.show(snapshot(0, []));
    let seq = 0;
    const turn = async (): Promise<void> => {
      const events: EventMessage[] = [];
      for (const one of conversation(4, seq + 1)) {
        const start = ++seq;
        events.push(
          message(start, { type: "item/started", item: { ...one, id: `i${start}`, seq: start, status: "inProgress" } }),
        );
        if (one.kind === "agentMessage") events.push(delta(start, 0, one.text ?? ""));
        events.push(message(++seq, { type: "item/completed", item: { ...one, id: `i${start}`, seq: start } }));
      }
      await host.send(...events);
    };
    const used: number[] = [];
    for (let n = 1; n <= 500; n++) {
      await turn();
      if (n % 100 === 0) used.push(await heap(cdp));
    }
    t.diagnostic(
      `heap after each 100 turns: ${used.map((bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`).join(", ")}`,
    );
    const [, second = 0, , , last = 0] = used;
    assert.ok(last < second * 1.25 + 1024 * 1024, used.join());
    assert.deepEqual(host.errors, []);
    await host.page.context().close();
  });

  it("keeps what is read in its place while the agent writes below, and follows the end when it is there", async () => {
    const host = await open(browser);
    const { page } = host;
    await host.show(snapshot(100, conversation(100)));
    await page.evaluate(() => document.querySelector(".list")?.scrollBy(0, -3000));
    await page.getByRole("button", { name: "Latest" }).waitFor();
    const place = (): Promise<[string, number]> =>
      page.evaluate(() => {
        const row = [...document.querySelectorAll<HTMLElement>(".row")].find(
          (e) => e.getBoundingClientRect().top > 200,
        );
        return [row?.dataset.key ?? "", Math.round(row?.getBoundingClientRect().top ?? 0)];
      });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const before = await place();
    await host.send(started(101, { turnId: 26 }));
    for (let n = 0; n < 20; n++) await host.send(delta(101, n, `Paragraph ${n} that is new.\n\n`));
    assert.deepEqual(await place(), before);
    await page.getByRole("button", { name: "Latest" }).click();
    await page.getByText("Paragraph 19 that is new.").waitFor();
    await host.send(delta(101, 20, "The very last.\n"));
    const visible = await page
      .getByText("The very last.")
      .evaluate(
        (e) =>
          e.getBoundingClientRect().bottom <= (document.querySelector(".list")?.getBoundingClientRect().bottom ?? 0),
      );
    assert.equal(visible, true);
    assert.deepEqual(host.errors, []);
    await page.context().close();
  });
});
