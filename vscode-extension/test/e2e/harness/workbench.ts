// This file drives the window of VS Code as a user does. The DOM of VS Code is private: this fits the version of scripts/get-vscode.
import type { BrowserContext, FrameLocator, Locator, Page } from "playwright-core";
import { until } from "./wait.ts";

/** How long something takes that nothing stands in the way of, in milliseconds. */
const moment = 2000;

/** Workbench is one window. */
export class Workbench {
  readonly page: Page;
  /** errors that nobody caught in the window */
  readonly errors: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on("pageerror", (error) => this.errors.push(String(error)));
  }

  /** Opens a window at an address of an Editor. */
  static async open(context: BrowserContext, url: string): Promise<Workbench> {
    const workbench = new Workbench(await context.newPage());
    await workbench.goto(url);
    return workbench;
  }

  async goto(url: string): Promise<void> {
    await this.page.goto(url, { waitUntil: "domcontentloaded" });
    await this.#shown();
  }

  /** Reloads the window by VS Code's command, which keeps what the window knows; the browser's own way loses the last minute of it. */
  async reload(): Promise<void> {
    const loaded = this.page.waitForEvent("domcontentloaded");
    await this.run("Developer: Reload Window");
    await loaded;
    await this.#shown();
  }

  async #shown(): Promise<void> {
    await this.page.locator(".monaco-workbench .part.statusbar").waitFor();
  }

  /** Where commands, files and answers are picked or typed. */
  get quick(): Locator {
    return this.page.locator(".quick-input-widget:visible");
  }

  get #input(): Locator {
    return this.quick.locator("input.input").first();
  }

  rows(text: string | RegExp): Locator {
    return this.quick.locator(".monaco-list-row").filter({ hasText: text });
  }

  /** Opens the palette; F1 may be lost while the window starts, so it is pressed until the palette is there. */
  async palette(): Promise<void> {
    await until("the palette", async () => {
      await this.page.keyboard.press("F1");
      return this.#input.isVisible();
    });
  }

  /** Types into the input that is shown, in place of what is in it. */
  async type(text: string): Promise<void> {
    await this.#input.fill(text);
  }

  /** Runs a command from the palette, which does not notice what becomes possible while it is open, and may be closed by others. */
  async run(title: string): Promise<void> {
    const name = this.page.locator(".label-name").getByText(title, { exact: true });
    const row = this.quick.locator(".monaco-list-row").filter({ has: name }).first();
    await until(`the command ${title}`, async () => {
      try {
        await this.palette();
        await this.#input.fill(`>${title}`, { timeout: moment });
        await row.click({ timeout: moment });
        return true;
      } catch {
        await this.page.keyboard.press("Escape");
        return false;
      }
    });
  }

  /** The commands that the palette offers for some words, once there is one. */
  offered(words: string): Promise<string[]> {
    return until(`commands for ${words}`, async () => {
      try {
        await this.palette();
        await this.#input.fill(`>${words}`, { timeout: moment });
        await this.rows(words).first().waitFor({ timeout: moment });
        const names = await this.quick.locator(".monaco-list-row .label-name").allInnerTexts();
        return names.length > 0 && names;
      } catch {
        return undefined;
      } finally {
        await this.page.keyboard.press("Escape");
      }
    });
  }

  /** Runs a command of ours. */
  command(title: string): Promise<void> {
    return this.run(`Sandbox Agent: ${title}`);
  }

  /** Picks the first entry with this text from a list, by typing it. */
  async pick(text: string): Promise<void> {
    await this.quick.locator(".monaco-list-row").first().waitFor();
    await this.type(text);
    await this.quick.locator('.monaco-list-row[data-index="0"]').filter({ hasText: text }).waitFor();
    await this.page.keyboard.press("Enter");
  }

  /** Types into the input that is shown, and enters it. */
  async enter(text: string): Promise<void> {
    await this.type(text);
    await this.page.keyboard.press("Enter");
  }

  notification(text: string | RegExp): Locator {
    return this.page.locator(".notification-toast").filter({ hasText: text });
  }

  /** A question that stops everything else. */
  dialog(text: string | RegExp): Locator {
    return this.page.locator(".monaco-dialog-box").filter({ hasText: text });
  }

  status(text: string | RegExp): Locator {
    return this.page.locator(".statusbar-item").filter({ hasText: text });
  }

  /** Shows our views. */
  async showViews(): Promise<void> {
    const tab = this.page.locator(".activitybar").getByRole("tab", { name: "Sandbox Agent" });
    if ((await tab.getAttribute("aria-selected")) !== "true") {
      await tab.click();
    }
  }

  /** The entries of the views with trees. */
  tree(text: string | RegExp): Locator {
    return this.page.locator('.monaco-list-row[role="treeitem"]').filter({ hasText: text });
  }

  /** What the side bar says. */
  sideBar(text: string | RegExp): Locator {
    return this.page.locator(".part.sidebar").getByText(text).first();
  }

  /** Trusts the folder that is open. */
  async trust(): Promise<void> {
    await this.run("Workspaces: Manage Workspace Trust");
    const editor = this.page.locator(".workspace-trust-editor");
    await editor.getByRole("button", { name: "Trust", exact: true }).first().click();
    await editor.getByText(/^You trust this (folder|workspace)/).waitFor();
    await this.run("View: Close Editor");
    await editor.waitFor({ state: "detached" });
  }

  /** Changes the theme. */
  async theme(name: string): Promise<void> {
    await this.run("Preferences: Color Theme");
    await this.pick(name);
  }

  /** Opens what is below an entry of a tree. */
  async expand(entry: string): Promise<void> {
    const row = this.tree(entry);
    if ((await row.getAttribute("aria-expanded")) === "false") {
      await row.locator(".monaco-tl-twistie").click();
    }
  }

  /** Makes the side bar so many pixels wide, as far as it can be, by dragging its edge. */
  async resizeSideBar(width: number): Promise<void> {
    const box = await this.page.locator(".part.sidebar").boundingBox();
    if (box === null) {
      throw new Error("there is no side bar");
    }
    await this.page.mouse.move(box.x + box.width, box.y + box.height / 2);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + width, box.y + box.height / 2, { steps: 4 });
    await this.page.mouse.up();
  }

  /** Does something with an entry of a tree, by one of the buttons that it has. */
  async act(entry: string, title: string): Promise<void> {
    const row = this.tree(entry);
    await row.hover();
    await row.getByRole("button", { name: title, exact: true }).click();
  }

  async openFile(name: string): Promise<void> {
    await until("the list of files", async () => {
      await this.page.keyboard.press("Control+P");
      return this.#input.isVisible();
    });
    await this.#input.fill(name);
    await this.pick(name);
    await this.page.locator(`.tab[data-resource-name="${name}"]`).waitFor();
  }

  /** What the web view shows that has this selector in it. */
  get webview(): FrameLocator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }
}
