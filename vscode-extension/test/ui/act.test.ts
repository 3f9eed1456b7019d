// What a user does on the page, with the keyboard where that is possible, and what the extension hears of it.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { approval, at, completed, delta, item, message, session, snapshot, started } from "../unit/model/make";
import { launch, open, Refusal, type FakeHost, type Options } from "./page";
import { sample } from "./samples";

describe("the page", () => {
  let browser: Browser;
  const hosts: FakeHost[] = [];
  before(async () => (browser = await launch()));
  after(() => browser.close());

  async function page(options: Options = {}): Promise<{ host: FakeHost; page: Page }> {
    const host = await open(browser, options);
    hosts.push(host);
    return { host, page: host.page };
  }
  after(() =>
    assert.deepEqual(
      hosts.flatMap((host) => host.errors),
      [],
    ),
  );

  const running = { status: "running" as const, reason: "Waiting for the model demo.", since: at };
  const busySession = snapshot(0, [], { session: session({ state: running }), state: running });
  const input = (on: Page) => on.getByRole("textbox", { name: "Message to the agent" });

  it("asks with Enter, and lets the text go only when the server has it", async () => {
    const { host, page: on } = await page();
    let release = (): void => undefined;
    host.answer.ask = () => new Promise((resolve) => (release = () => resolve({ sessionId: "s1", queued: false })));
    await host.show(snapshot(0, []));
    await input(on).fill("What is this?");
    await input(on).press("Enter");
    await on.waitForSelector("textarea[readonly]");
    assert.equal(await input(on).inputValue(), "What is this?");
    release();
    await on.waitForFunction(() => document.querySelector("textarea")?.value === "");
    assert.equal(host.called("ask")[0]?.text, "What is this?");
  });

  it("keeps a text that could not be sent, and sends it again under the same id", async () => {
    const { host, page: on } = await page();
    host.answer.ask = () => Promise.reject(new Refusal("No worker answers.", "Start one."));
    await host.show(snapshot(0, []));
    await input(on).fill("Hello");
    await input(on).press("Enter");
    await on.getByRole("alert").getByText("No worker answers. Start one.").waitFor();
    assert.equal(await input(on).inputValue(), "Hello");
    host.answer.ask = () => ({ sessionId: "s1", queued: false });
    await input(on).press("Enter");
    await on.waitForFunction(() => document.querySelector("textarea")?.value === "");
    const [first, second] = host.called("ask");
    assert.equal(first?.requestId, second?.requestId);
    assert.equal(await on.getByRole("alert").count(), 0);
  });

  it("queues with Enter and steers with Ctrl+Enter while a turn runs, and stops it", async () => {
    const { host, page: on } = await page();
    host.answer.ask = () => ({ sessionId: "s1", queued: true });
    await host.show(busySession);
    await input(on).fill("one");
    await input(on).press("Control+Enter");
    await on.waitForFunction(() => document.querySelector("textarea")?.value === "");
    await input(on).fill("two\nlines");
    await on.getByRole("button", { name: "Queue" }).click();
    await on.waitForFunction(() => document.querySelector("textarea")?.value === "");
    await on.getByRole("button", { name: "Stop", exact: true }).click();
    assert.deepEqual(
      host.calls.map(({ name }) => name),
      ["steer", "ask", "stop"],
    );
    assert.deepEqual(host.called("stop"), [{ sessionId: "s1", turnId: 1 }]);
  });

  it("completes slash commands and mentions with the keyboard, and refuses what is no command", async () => {
    const slash = [
      { name: "switch", argument: "backend", description: "Move" },
      { name: "stop", description: "Stop" },
    ];
    const { host, page: on } = await page({ slash });
    host.answer.slashArguments = ({ lead }) => ({ words: ["docker", "local"].filter((word) => word.startsWith(lead)) });
    host.answer.mentions = () => ({ mentions: [{ text: "src/main.go", label: "src/main.go" }] });
    host.answer.slash = ({ line }) => (line.startsWith("/nosuch") ? { refused: "There is no command /nosuch." } : {});
    await host.show(snapshot(0, []));
    await input(on).pressSequentially("/s");
    await on.getByRole("option", { name: "/switch <backend>" }).waitFor();
    await input(on).press("ArrowDown");
    await input(on).press("ArrowUp");
    await input(on).press("Tab");
    assert.equal(await input(on).inputValue(), "/switch ");
    await input(on).pressSequentially("do");
    await on.getByRole("option", { name: "docker" }).waitFor();
    await input(on).press("Enter");
    await input(on).press("Enter");
    await on.waitForFunction(() => document.querySelector("textarea")?.value === "");
    assert.deepEqual(host.called("slash"), [{ sessionId: "s1", line: "/switch docker" }]);
    await input(on).pressSequentially("look at @ma");
    await on.getByRole("option", { name: "src/main.go" }).click();
    assert.equal(await input(on).inputValue(), "look at @src/main.go ");
    await input(on).fill("/nosuch thing");
    await input(on).press("Enter");
    await on.getByRole("alert").getByText("There is no command /nosuch.").waitFor();
    assert.deepEqual(host.called("ask"), []);
  });

  it("recalls earlier requests with the arrows", async () => {
    const { host, page: on } = await page();
    await host.show(
      snapshot(2, [item(1, { kind: "userMessage", text: "first" }), item(2, { kind: "userMessage", text: "second" })]),
    );
    await input(on).press("ArrowUp");
    await input(on).press("ArrowUp");
    assert.equal(await input(on).inputValue(), "first");
    await input(on).press("ArrowDown");
    await input(on).press("ArrowDown");
    assert.equal(await input(on).inputValue(), "");
  });

  it("shows what an edit would change before it is allowed, all of it also where only its beginning is here", async () => {
    const { host, page: on } = await page();
    const patch = (line: string) =>
      JSON.stringify({ patch: `*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+${line}\n*** End Patch` });
    const [short, long] = [patch("new"), patch("long ".repeat(2000))];
    host.answer.read = () => ({ text: long, end: long.length, total: long.length });
    await host.show(snapshot(0, []));
    for (const [seq, text] of [short, long.slice(0, 200)].entries()) {
      const call = { kind: "toolCall", tool: "apply_patch", text: "change a.txt", arguments: text } as const;
      const asked = approval(`a${seq}`, { itemId: `i${3 * seq + 1}`, tool: "apply_patch", subject: "change a.txt" });
      await host.send(
        started(3 * seq + 1, call),
        message(3 * seq + 2, { type: "approval/requested", approval: asked }),
      );
      const question = on.locator(".approval");
      await question.getByText("-old").waitFor();
      await question.getByText(seq === 0 ? "+new" : "+long long").waitFor();
      const done = message(3 * seq + 3, { type: "approval/resolved", approval: { ...asked, decision: "deny" } });
      await host.send(done);
      await question.waitFor({ state: "detached" });
    }
    assert.deepEqual(
      host.called("read").map(({ stream, offset }) => [stream, offset]),
      [["arguments", 0]],
    );
  });

  it("answers approvals: allow, always with another pattern and scope, deny with a reason", async () => {
    const { host, page: on } = await page();
    host.answer.answer = ({ decision }) => ({ already: false, decidedBy: "vscode", decision });
    const ask = (id: string) =>
      message(Number(id.slice(1)), {
        type: "approval/requested",
        approval: approval(id, { options: ["allow", "allowAlways", "deny"], pattern: "make *", subject: `make ${id}` }),
      });
    await host.show(snapshot(0, []));
    await host.send(started(1, { kind: "toolCall", tool: "exec_command", text: "make" }));
    await host.send(ask("a2"));
    await on.getByRole("button", { name: "Allow", exact: true }).press("Enter");
    await host.send(message(3, { type: "approval/resolved", approval: approval("a2") }), ask("a4"));
    await on.locator(".subject", { hasText: "make a4" }).waitFor();
    await on.getByRole("button", { name: "Always Allow…" }).press("Enter");
    await on.getByLabel("Always allow what fits:").fill("make test");
    await on.getByLabel("In this workspace").check();
    await on.getByRole("button", { name: "Always Allow", exact: true }).press("Enter");
    await host.send(message(5, { type: "approval/resolved", approval: approval("a4") }), ask("a6"));
    await on.locator(".subject", { hasText: "make a6" }).waitFor();
    await on.getByRole("button", { name: "Deny and Say Why…" }).press("Enter");
    await on.keyboard.type("Use go build.");
    await on.getByRole("button", { name: "Deny", exact: true }).click();
    await host.send(message(7, { type: "approval/resolved", approval: approval("a6") }));
    assert.equal(await on.locator(".approval").count(), 0);
    const answers = host.called("answer").map(({ approvalId, decision, pattern, scope, feedback }) => ({
      approvalId,
      decision,
      pattern,
      scope,
      feedback,
    }));
    assert.deepEqual(answers, [
      { approvalId: "a2", decision: "allow", pattern: undefined, scope: undefined, feedback: undefined },
      { approvalId: "a4", decision: "allowAlways", pattern: "make test", scope: "workspace", feedback: undefined },
      { approvalId: "a6", decision: "deny", pattern: undefined, scope: undefined, feedback: "Use go build." },
    ]);
  });

  it("edits, removes and steers what waits", async () => {
    const { host, page: on } = await page();
    host.answer.queuedText = () => ({ text: "the whole text of it" });
    host.answer.steerQueued = () => ({ queued: false });
    await host.show({ ...busySession, queued: [{ itemId: "i9", text: "the whole…", at }] });
    await on.getByRole("button", { name: "Edit" }).click();
    const editor = on.getByRole("textbox", { name: "Waiting request" });
    assert.equal(await editor.inputValue(), "the whole text of it");
    await editor.fill("another text");
    await on.getByRole("button", { name: "Save" }).click();
    await on.getByRole("button", { name: "Steer Now" }).click();
    await on.getByRole("button", { name: "Remove" }).click();
    assert.deepEqual(host.called("editQueued"), [{ sessionId: "s1", itemId: "i9", text: "another text" }]);
    assert.deepEqual([host.called("steerQueued").length, host.called("removeQueued").length], [1, 1]);
  });

  it("keeps draft, caret and focus while the agent writes", async () => {
    const { host, page: on } = await page();
    await host.show(busySession);
    await host.send(started(1));
    await input(on).fill("my draft");
    await input(on).press("ArrowLeft");
    for (let n = 0; n < 50; n++) await host.send(delta(1, n, `word ${n} `));
    await input(on).press("X");
    assert.equal(await input(on).inputValue(), "my drafXt");
    await on.waitForFunction(() => document.querySelector(".agent")?.textContent.includes("word 49"));
  });

  it("restores the draft and what was opened when it is shown again", async () => {
    const first = await page({ height: 1600 });
    await first.host.show(sample());
    await input(first.page).fill("a draft");
    await first.page.getByRole("button", { name: /Thought/ }).click();
    await first.page.getByText("It may read too much.").waitFor();
    const both = /a draft.*"opened":\[\{/;
    while (!both.test(JSON.stringify(first.host.saved ?? "")))
      await first.page.evaluate(() => new Promise(requestAnimationFrame));
    const again = await page({ height: 1600, saved: first.host.saved });
    await again.host.show(sample());
    assert.equal(await input(again.page).inputValue(), "a draft");
    await again.page.getByText("It may read too much.").waitFor({ state: "attached" });
  });

  it("streams an answer, voids it for a higher attempt, and ends with what is completed", async () => {
    const { host, page: on } = await page();
    await host.show(busySession);
    await host.send(
      started(1),
      delta(1, 0, "# Wrong\n\nno "),
      delta(1, 0, "Right **bo", { attempt: 2 }),
      delta(1, 1, "ld**", { attempt: 2 }),
    );
    await on.locator("strong", { hasText: "bold" }).waitFor();
    assert.equal(await on.getByText("Wrong").count(), 0);
    await host.send(completed(2, 1, { text: "The **end**.", attempt: 2 }));
    assert.equal((await on.locator(".agent p").textContent())?.trim(), "The end.");
  });

  it("goes through the conversation with the keyboard", async () => {
    const { host, page: on } = await page();
    await host.show(sample());
    await on.locator(".row[tabindex='0']").focus();
    const focused = (): Promise<string | null> =>
      on.evaluate(() => document.activeElement?.getAttribute("data-key") ?? null);
    assert.equal(await focused(), "i11");
    await on.keyboard.press("ArrowUp");
    assert.equal(await focused(), "i10");
    await on.keyboard.press("Home");
    await on.waitForFunction(() => document.activeElement?.getAttribute("data-key") === "i1");
    await on.keyboard.press("ArrowDown");
    await on.keyboard.press("Tab"); // into the row
    await on.keyboard.press("Enter");
    await on.getByText("It may read too much.").waitFor();
    await on.keyboard.press("Escape");
    assert.equal(await focused(), "i2");
  });

  it("shows more of an output, opens files and links by the extension, copies code", async () => {
    const { host, page: on } = await page({ height: 1600 });
    host.answer.read = ({ offset }) => ({ text: `from ${offset}\n`, end: offset + 200_000, total: 300_000 });
    await host.show(sample());
    await on.getByRole("button", { name: /Run go test/ }).click();
    await on.getByRole("button", { name: /Show All \(292 KiB\)/ }).click();
    await on.getByText("from 0").waitFor();
    await on.getByRole("button", { name: /Show More/ }).click();
    await on.getByText("from 200000").waitFor();
    await on.getByRole("button", { name: "parse.go", exact: true }).click();
    await on.getByRole("link", { name: "the spec" }).click();
    await on.getByRole("button", { name: "Copy Code" }).click();
    await on.getByText("Copied").waitFor();
    assert.deepEqual(host.called("file"), [{ sessionId: "s1", path: "parse.go", line: 10 }]);
    assert.deepEqual(host.called("link"), [{ sessionId: "s1", href: "https://example.org/spec" }]);
    assert.match(host.called("copy")[0]?.text ?? "", /^func parse[^]*\}\n$/);
  });

  it("tells those who cannot see it whole messages, questions and ends, and no tokens", async () => {
    const { host, page: on } = await page();
    await host.show(busySession);
    const log = on.getByRole("log");
    await host.send(started(1), delta(1, 0, "a token"));
    assert.equal(await log.textContent(), "");
    await host.send(
      completed(2, 1, { text: "The answer." }),
      message(3, { type: "approval/requested", approval: approval("a1") }),
    );
    await host.send(message(4, { type: "state/changed", state: { status: "failed", reason: "No key.", since: at } }));
    await log.getByText("Failed: No key.").waitFor({ state: "attached" });
    const texts = await log.locator("p").allTextContents();
    assert.deepEqual(texts, ["The agent: The answer.", "The agent asks: make. It writes.", "Failed: No key."]);
  });

  it("says why a turn failed and what to do, and stops commands in the background", async () => {
    const { host, page: on } = await page();
    const state = {
      status: "failed" as const,
      reason: "There is no API key.",
      remedy: "Set OPENAI_API_KEY.",
      since: at,
    };
    const background = [{ itemId: "i5", turnId: 1, command: "npm run dev", at }];
    await host.show(snapshot(1, [item(1, { kind: "userMessage", text: "x" })], { state, background }));
    await on.getByRole("button", { name: "Set API Key…" }).click();
    await on.getByRole("button", { name: "In the background: 1" }).click();
    await on.getByRole("button", { name: "Stop Command" }).click();
    assert.deepEqual(host.called("run"), [{ sessionId: "s1", command: "setApiKey" }]);
    assert.deepEqual(host.called("stopCommand"), [{ sessionId: "s1", itemId: "i5" }]);
  });

  it("asks again what a failed turn was asked, where nothing has followed it", async () => {
    const { host, page: on } = await page();
    host.answer.askAgain = () => ({ queued: false });
    const state = { status: "failed" as const, reason: "The model does not answer.", since: at };
    const failed = (turnId: number) =>
      snapshot(1, [item(1, { kind: "userMessage", text: "x" })], { state, session: session({ turnId, state }) });
    await host.show(failed(1));
    await on.getByRole("button", { name: "Ask Again" }).click();
    await on.waitForFunction(() => !document.querySelector<HTMLButtonElement>(".failure .primary")?.disabled);
    const [again] = host.called("askAgain");
    assert.deepEqual({ ...again, requestId: "" }, { sessionId: "s1", itemId: "i1", requestId: "" });
    await host.show({ ...failed(1), state: { ...state, status: "running" } });
    assert.equal(await on.getByRole("button", { name: "Ask Again" }).count(), 0);
  });

  it("teaches what can be asked where nothing was said yet, and copies an answer", async () => {
    const { host, page: on } = await page();
    await host.show(snapshot(0, []));
    await on.getByRole("button", { name: "Run the tests, and fix what fails." }).click();
    await on.waitForFunction(() => document.querySelector("textarea")?.value === "Run the tests, and fix what fails.");
    await host.send(started(1), completed(2, 1, { text: "The *answer*." }));
    assert.equal(await on.locator(".welcome").count(), 0);
    await on.getByRole("button", { name: "Copy Answer" }).focus();
    await on.keyboard.press("Enter");
    await on.getByText("Copied").waitFor();
    assert.deepEqual(host.called("copy"), [{ text: "The *answer*." }]);
  });

  it("stops the command of a running call alone, and shows who stopped it", async () => {
    const { host, page: on } = await page();
    await host.show(busySession);
    const call = { kind: "toolCall", tool: "exec_command", text: "make" } as const;
    await host.send(message(1, { type: "item/started", item: item(1, { ...call, status: "inProgress" }) }));
    await on.getByRole("button", { name: "Stop Command" }).click();
    assert.deepEqual(host.called("stopCommand"), [{ sessionId: "s1", itemId: "i1" }]);
    await host.send(completed(2, 1, { ...call, status: "interrupted", stoppedBy: "nvim" }));
    await on.locator(".tool").getByText("stopped by nvim").waitFor();
    assert.equal(await on.getByRole("button", { name: "Stop Command" }).count(), 0);
    await host.send(message(3, { type: "item/completed", item: item(3, { ...call, background: true }) }));
    await on.locator(".tool").getByText("in the background").waitFor();
  });

  it("says what is missing and what helps while the session cannot be followed, and that it goes on", async () => {
    const { host, page: on } = await page();
    await host.show(busySession);
    const away = { connected: false, reason: "no worker is running", remedy: "Start one.", since: at };
    await host.send(message(0, { type: "connection/changed", ...away }));
    await on.locator(".state.failed").getByText("No worker is running. Start one.").waitFor();
    await on.locator(".state.failed .since").waitFor();
    await host.send(message(0, { type: "connection/changed", connected: true, since: at, state: running }));
    await on.locator(".state.running").getByText("Waiting for the model demo.").waitFor();
    const texts = await on.getByRole("log").locator("p").allTextContents();
    assert.deepEqual(texts, ["No worker is running. Start one.", "The session goes on."]);
  });

  it("shows that there is no session, what is in the way, and that the server is away", async () => {
    const { host, page: on } = await page({ width: 250 });
    host.post({ type: "session", batch: 1 });
    await on.getByText("Ask, and watch it work.").waitFor();
    host.post({ type: "fresh", backend: "docker", model: "some-model" });
    await on.getByText("A new session has the sandbox “Docker” and the model “some-model”.").waitFor();
    const message = "There is no program /nowhere/agent that can be run. Correct the setting, or clear it.";
    host.post({ type: "hint", hint: { message, action: "Find Out Why" } });
    const action = on.getByRole("button", { name: "Find Out Why" });
    await action.click();
    assert.ok(((await action.boundingBox())?.height ?? 99) < 30, "its words stay on one line");
    await host.show(snapshot(0, []));
    host.post({ type: "connection", connection: { connected: false, problem: "The server has ended." } });
    await on.getByText("The server has ended.").waitFor();
    assert.equal(host.called("resolve").length, 1);
  });

  it("keeps still for those who want that", async () => {
    const { host, page: on } = await page({ reducedMotion: true });
    await host.show(busySession);
    await host.send(started(1));
    assert.equal(await on.locator(".pulse").evaluate((element) => getComputedStyle(element).animationName), "none");
  });
});
