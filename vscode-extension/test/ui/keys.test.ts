// The page by keys alone: every control is reached, named for those who cannot see it, and leaves the keyboard somewhere sensible.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { AttachResult } from "../../../editors/protocol";
import { approval, at, completed, item, message, session, snapshot } from "../unit/model/make";
import { launch, open, Refusal, type FakeHost } from "./page";
import { sample } from "./samples";

/** What can be operated, as the browser sees it. */
const controls = "button, a[href], input, textarea, :is(pre, .table)[tabindex]";

describe("the page by keys", () => {
  let browser: Browser;
  const hosts: FakeHost[] = [];
  before(async () => (browser = await launch()));
  after(async () => {
    await browser.close();
    assert.deepEqual(
      hosts.flatMap(({ errors }) => errors),
      [],
    );
  });

  async function shown(result: AttachResult): Promise<{ host: FakeHost; page: Page }> {
    const host = await open(browser, { height: 2400 });
    hosts.push(host);
    await host.show(result);
    await host.page.bringToFront();
    return { host, page: host.page };
  }

  /** What has the keyboard: its class, its text, and in which part it is. */
  const held = (page: Page): Promise<string> =>
    page.evaluate(() => {
      const element = document.activeElement;
      return element?.getAttribute("aria-label") || element?.textContent || element?.tagName || "";
    });

  async function press(page: Page, ...keys: string[]): Promise<void> {
    for (const key of keys) await page.keyboard.press(key);
  }

  /** Goes to a control by the Tab key. */
  async function to(page: Page, name: string, key = "Tab"): Promise<void> {
    for (let presses = 0; (await held(page)) !== name; presses++) {
      assert.ok(presses < 80, `${name} is not reached; the keyboard is at ${await held(page)}`);
      await page.keyboard.press(key);
    }
  }

  const running = { status: "running" as const, reason: "Waiting.", since: at };
  const asked = ["a1", "a2"].map((id, i) =>
    approval(id, { itemId: `i${i + 1}`, subject: `make ${id}`, options: ["allow", "allowAlways", "deny"] }),
  );
  const call = { kind: "toolCall", tool: "exec_command", status: "inProgress" } as const;
  const items = [item(1, { ...call, text: "make a1" }), item(2, { ...call, text: "make a2" })];
  const asking = snapshot(2, items, { session: session({ state: running }), state: running, pendingApprovals: asked });
  const input = "Message to the agent";

  /** Everything the page can show at once. */
  async function everything(): Promise<{ host: FakeHost; page: Page }> {
    const background = [{ itemId: "i6", turnId: 1, command: "npm run dev", at }];
    const all = await shown(sample({ background, before: "older" }));
    const { host, page } = all;
    host.answer.ask = () => Promise.reject(new Refusal("No worker answers."));
    await page.evaluate(() => {
      for (const head of document.querySelectorAll<HTMLElement>(".head[aria-expanded=false]")) head.click();
    });
    await page.getByRole("textbox", { name: input }).fill("x");
    await press(page, "Enter");
    await page.getByRole("alert").waitFor();
    return all;
  }

  it("reaches every control by Tab, in the order in which they stand", async () => {
    const { page } = await everything();
    const number = (): Promise<number> =>
      page.evaluate((selector) => {
        const usable = (element: HTMLElement): boolean => !element.matches(":disabled") && element.checkVisibility();
        const all = [...document.querySelectorAll<HTMLElement>(selector)].filter(usable);
        all.forEach((element, n) => (element.dataset.number ??= String(n + 1)));
        return all.length;
      }, controls);
    const count = await number();
    assert.ok(count > 30, `${count} controls`);
    const seen: number[] = [];
    while (seen.length < count) {
      await page.keyboard.press("Tab");
      const { at, row } = await page.evaluate(() => {
        const { dataset, classList } = document.activeElement as HTMLElement;
        return { at: Number(dataset.number ?? 0), row: classList.contains("row") };
      });
      if (!row && (seen.length > 0 || at === 1)) seen.push(at);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: count }, (_, n) => n + 1),
    );
  });

  it("has a role and a name for everything that can be operated or read", async () => {
    const { page } = await everything();
    const client = await page.context().newCDPSession(page);
    const { nodes } = await client.send("Accessibility.getFullAXTree");
    const named = [
      "button",
      "link",
      "textbox",
      "radio",
      "article",
      "feed",
      "log",
      "region",
      "alert",
      "listbox",
      "group",
    ];
    const found = new Map<string, number>();
    const nameless: string[] = [];
    for (const { ignored, role, name, nodeId } of nodes) {
      const kind = String(role?.value ?? "");
      if (ignored || !named.includes(kind)) continue;
      found.set(kind, (found.get(kind) ?? 0) + 1);
      if (kind !== "alert" && String(name?.value ?? "").trim() === "") nameless.push(`${kind} ${nodeId}`);
    }
    assert.deepEqual(nameless, []);
    for (const kind of ["button", "link", "textbox", "article", "feed", "log", "region", "alert"])
      assert.ok(found.get(kind), `there is a ${kind}`);
    const focusable = nodes.filter(
      ({ ignored, properties, role }) =>
        !ignored &&
        properties?.some((one) => one.name === "focusable" && one.value.value === true) &&
        ["generic", "none", ""].includes(String(role?.value ?? "")),
    );
    assert.deepEqual(
      focusable.map(({ name, backendDOMNodeId }) => `${String(name?.value)} ${backendDOMNodeId}`),
      [],
      "what has the keyboard says what it is",
    );
  });

  it("begins in the input when the view gets the keyboard", async () => {
    const { page } = await shown(asking);
    await page.evaluate(() => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      window.dispatchEvent(new Event("focus")); // as VS Code gives it
    });
    assert.equal(await held(page), input);
  });

  it("goes to the next question after an answer, then to the input", async () => {
    const { host, page } = await shown(asking);
    host.answer.answer = ({ decision }) => ({ already: false, decidedBy: "vscode", decision });
    await to(page, "Allow");
    await press(page, "Enter", "Enter"); // the second one answers nothing
    await host.send(message(3, { type: "approval/resolved", approval: asked[0] ?? approval("a1") }));
    assert.equal(await held(page), "Approval: make a2");
    await press(page, "Enter");
    assert.deepEqual(
      host.called("answer").map(({ approvalId, decision }) => [approvalId, decision]),
      [["a1", "allow"]],
    );
    await to(page, "Deny");
    await press(page, "Enter");
    await host.send(message(4, { type: "approval/resolved", approval: asked[1] ?? approval("a2") }));
    assert.equal(await held(page), input);
  });

  it("comes back from the forms of a question", async () => {
    const { host, page } = await shown(asking);
    for (const [button, field] of [
      ["Always Allow…", "INPUT"],
      ["Deny and Say Why…", "TEXTAREA"],
    ] as const) {
      await to(page, button);
      await press(page, "Enter");
      assert.equal(await held(page), field);
      await press(page, "Escape");
      assert.equal(await held(page), button);
    }
    await press(page, "Escape");
    assert.match(await held(page), /^Run make a1/);
    await press(page, "Escape");
    assert.equal(await held(page), input);
    assert.deepEqual(host.called("answer"), []);
  });

  it("stays with what waits, edited or taken back", async () => {
    const queued = ["one", "two"].map((text, i) => ({ itemId: `q${i}`, text, at }));
    const { host, page } = await shown(
      snapshot(0, [], { session: session({ state: running }), state: running, queued }),
    );
    host.answer.queuedText = () => ({ text: "one" });
    await to(page, "Edit");
    await press(page, "Enter");
    await page.getByRole("textbox", { name: "Waiting request" }).waitFor();
    await page.keyboard.type(", changed");
    await press(page, "Tab", "Enter"); // Save
    await page.getByRole("button", { name: "Edit" }).nth(1).waitFor();
    assert.equal(await held(page), "Edit");
    assert.deepEqual(host.called("editQueued"), [{ sessionId: "s1", itemId: "q0", text: "one, changed" }]);
    await press(page, "Tab", "Enter"); // Remove
    await host.send(message(1, { type: "queue/changed", queued: queued.slice(1) }));
    assert.equal(await held(page), "Waiting requests");
    await to(page, "Remove");
    await press(page, "Enter");
    await host.send(message(2, { type: "queue/changed", queued: [] }));
    assert.equal(await held(page), input);
    assert.deepEqual(
      host.called("removeQueued").map(({ itemId }) => itemId),
      ["q0", "q1"],
    );
  });

  it("does not lose the keyboard with a button or a row that goes", async () => {
    const { host, page } = await shown(snapshot(0, [], { session: session({ state: running }), state: running }));
    await to(page, "■ Stop");
    await press(page, "Enter");
    const idle = { status: "idle" as const, since: at };
    await host.send(message(1, { type: "state/changed", state: idle }));
    assert.equal(await held(page), input);
    await host.send(message(2, { type: "item/started", item: item(2, { status: "inProgress", text: "" }) }));
    await press(page, "Shift+Tab");
    assert.equal(await held(page), "The agent");
    await host.send(completed(3, 2, { text: "The answer." }));
    assert.equal(await held(page), "The agent");
    await page.keyboard.press("Escape");
    assert.equal(await held(page), input);
  });

  it("lets a click beside everything take the keyboard away, so that text can be selected", async () => {
    const { host, page } = await shown(snapshot(1, [item(1, { text: "Some words." })]));
    await page.getByRole("textbox", { name: input }).focus();
    await page.locator(".usage").dblclick({ position: { x: 3, y: 8 } });
    await host.send(completed(2, 2, { text: "More." }));
    assert.equal(await page.evaluate(() => document.getSelection()?.toString().trim()), "0");
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "BODY");
  });
});
