// The page of the conversation in a headless Chromium, with a stand-in for the extension around it: the whole page is real, its
// policy included, and starts in a second.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { pageHtml } from "../../src/conversation/html";
import {
  messageFromPage,
  messageToPage,
  type Answer,
  type CallName,
  type FromPage,
  type Given,
  type SlashCommand,
  type ToPage,
} from "../../src/conversation/messages";
import { Outbox } from "../../src/conversation/outbox";
import { applied, attached, emptyView, type SessionView } from "../../src/model/session";
import type { AttachResult, EventMessage } from "../../../editors/protocol";
import { defaultStyles, kinds, themes, type ThemeName } from "./themes";

const origin = "https://conversation.test"; // a secure context, as webviews are
const dist = process.env.SANDBOX_AGENT_UI_DIST ?? "dist";

/** The Chromium of this machine. */
function program(): string {
  const found = [process.env.CHROMIUM, "/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(
    (path) => path && existsSync(path),
  );
  if (!found) throw new Error("There is no Chromium: install chromium-headless-shell, or name one in CHROMIUM.");
  return found;
}

export function launch(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--js-flags=--expose-gc"];
  return chromium.launch({ executablePath: program(), args: [...args, "--enable-precise-memory-info"] });
}

export interface Options {
  readonly theme?: ThemeName;
  readonly width?: number;
  readonly height?: number;
  readonly slash?: readonly SlashCommand[];
  /** The texts of another language. */
  readonly texts?: Record<string, string>;
  /** What the page saved when it was shown before. */
  readonly saved?: unknown;
  readonly reducedMotion?: boolean;
}

type Answerer = { [C in CallName]?: (given: Given<C>) => Answer<C> | Promise<Answer<C>> };

/** What a call of the page is refused with. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly remedy?: string,
  ) {
    super(message);
  }
}

/** The extension's side of one page. */
export class FakeHost {
  view: SessionView | undefined;
  /** What the page has asked for, in order. */
  readonly calls: { name: CallName; given: unknown }[] = [];
  /** What was written to the browser's console as an error. */
  readonly errors: string[] = [];
  readonly answer: Answerer = {};
  /** What the page has saved. */
  saved: unknown;
  private readonly outbox = new Outbox(
    (message) => this.post(message),
    () => this.view,
  );
  private readonly drawings: (() => void)[] = [];
  private sent = 0;
  private drawn = 0;

  constructor(
    readonly page: Page,
    private readonly slash: readonly SlashCommand[],
    private readonly texts: Record<string, string> | undefined,
  ) {}

  post(message: ToPage): void {
    assert.ok(messageToPage(message), `not a message: ${message.type}`);
    if ("batch" in message) this.sent = message.batch;
    void this.page
      .evaluate((m) => window.postMessage(m, "*"), message)
      .catch((error: unknown) => this.errors.push(String(error)));
  }

  take(value: unknown): void {
    const message = messageFromPage(value);
    assert.ok(message, `the page said ${JSON.stringify(value).slice(0, 200)}`);
    if (message.type === "ready") {
      this.post({ type: "hello", slash: [...this.slash], ...(this.texts && { texts: this.texts }) });
      this.outbox.reset();
    } else if (message.type === "drawn") {
      this.drawn = message.batch;
      this.outbox.acknowledge(message.batch);
      if (this.drawn >= this.sent) for (const done of this.drawings.splice(0)) done();
    } else {
      void this.reply(message);
    }
  }

  private async reply({ id, name, given }: Extract<FromPage, { type: "call" }>): Promise<void> {
    this.calls.push({ name, given });
    const answer = this.answer[name] as ((given: unknown) => object | Promise<object>) | undefined;
    try {
      this.post({ type: "reply", id, answer: (await answer?.(given)) ?? {} });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      this.post({ type: "reply", id, problem: { message: thrown.message, remedy: thrown.remedy } });
    }
  }

  /** Shows a session as attach has given it. */
  async show(result: AttachResult): Promise<void> {
    this.view = attached(emptyView(result.session.id), result);
    this.outbox.reset();
    await this.settled();
  }

  /** Sends events, as they come. */
  send(...messages: EventMessage[]): Promise<void> {
    for (const message of messages) {
      if (this.view) this.view = applied(this.view, message);
      this.outbox.push({ kind: "event", message });
    }
    return this.settled();
  }

  /** Resolves when the page has drawn all that was sent. */
  settled(): Promise<void> {
    if (this.drawn >= this.sent) return Promise.resolve();
    return new Promise((resolve) => this.drawings.push(resolve));
  }

  /** The calls of one name. */
  called<C extends CallName>(name: C): Given<C>[] {
    return this.calls.filter((call) => call.name === name).map((call) => call.given as Given<C>);
  }
}

/** Opens the page and waits until it is ready. */
export async function open(browser: Browser, options: Options = {}): Promise<FakeHost> {
  const { theme = "dark", width = 420, height = 800 } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    reducedMotion: options.reducedMotion ? "reduce" : "no-preference",
    forcedColors: "none",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const host = new FakeHost(page, options.slash ?? [], options.texts);
  page.on("console", (message) => message.type() === "error" && host.errors.push(message.text()));
  page.on("pageerror", (error) => host.errors.push(error.stack ?? String(error)));
  await page.exposeFunction("took", (message: unknown) => host.take(message));
  await page.exposeFunction("saves", (state: unknown) => void (host.saved = state));
  await page.route(`${origin}/**`, async (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    if (name !== "") return route.fulfill({ path: join(dist, name) });
    return route.fulfill({ contentType: "text/html", body: document() });
  });
  await page.addInitScript(
    ({ variables, kind, saved }) => {
      const { took, saves } = window as unknown as Record<"took" | "saves", (value: unknown) => void>;
      Object.assign(window, {
        acquireVsCodeApi: () => ({ postMessage: took, getState: () => saved, setState: saves }),
      });
      window.addEventListener("DOMContentLoaded", () => {
        for (const [name, value] of Object.entries(variables))
          window.document.documentElement.style.setProperty(`--vscode-${name}`, value);
        window.document.documentElement.style.setProperty("background", "var(--vscode-sideBar-background)");
        window.document.body.classList.add(kind);
      });
    },
    { variables: themes[theme], kind: kinds[theme], saved: options.saved },
  );
  await page.goto(`${origin}/`);
  await page.waitForSelector(".composer");
  return host;
}

/** The page as VS Code makes it of ours: its styles come first. */
function document(): string {
  const html = pageHtml({
    source: origin,
    nonce: "n0nce",
    script: "webview.js",
    style: "webview.css",
    language: "en",
    title: "Conversation",
  });
  return html.replace("<head>", `<head><style>${defaultStyles}</style>`);
}

/** A file of the repository. */
export function file(path: string): string {
  return readFileSync(path, "utf8");
}
