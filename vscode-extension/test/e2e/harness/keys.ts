// This file drives the window of VS Code by keys alone: there is no pointer in it, and what is shown is read only to know what
// has the keyboard.
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { until } from "./wait.ts";
import type { Workbench } from "./workbench.ts";

/** How often one key may have to be pressed to get somewhere. */
const farthest = 60;

/** How long something takes that nothing stands in the way of, in milliseconds. */
const moment = 5000;

/** Keys is the keyboard of a window. */
export class Keys {
  readonly #window: Workbench;
  readonly #page: Page;
  readonly #pointed: string[] = [];

  constructor(window: Workbench) {
    this.#window = window;
    this.#page = window.page;
  }

  /** Notes from now on whatever a pointer does in the window, its web views included. */
  async watch(): Promise<void> {
    await this.#page.exposeBinding("pointed", (_, what: string) => void this.#pointed.push(what));
    const note = () =>
      window.addEventListener("pointerdown", ({ target }) => {
        const { pointed } = window as unknown as { pointed: (what: string) => void };
        pointed((target as Element).outerHTML.slice(0, 200));
      });
    await this.#page.addInitScript(note);
    await this.#page.evaluate(note);
  }

  /** What a pointer was used on. */
  get pointed(): readonly string[] {
    return this.#pointed;
  }

  /** Presses keys, one after the other. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      await this.#page.keyboard.press(key);
    }
  }

  /** Types a text, key by key. */
  async type(text: string): Promise<void> {
    await this.#page.keyboard.type(text);
  }

  /** Writes a text where the keyboard is in the place of what stands there: in one piece, as input methods do. */
  async write(text: string): Promise<void> {
    await this.press("Control+A", "Delete");
    await this.#page.keyboard.insertText(text);
  }

  /** Types a text in the place of a line in a web view, where VS Code selects all once more a moment after Control+A. */
  async replace(text: string): Promise<void> {
    await this.press("End", "Shift+Home", "Delete");
    await this.type(text);
  }

  /** Runs a command from the palette, which does not notice what becomes possible while it is open. */
  async run(title: string): Promise<void> {
    const name = this.#page.locator(".label-name").getByText(title, { exact: true });
    await until(`the command ${title}`, async () => {
      try {
        await this.press("F1");
        await this.#input.waitFor({ timeout: moment });
        await this.write(`>${title}`);
        await this.#window.quick.filter({ has: name }).waitFor({ timeout: moment });
        return true;
      } catch {
        await this.press("Escape");
        return false;
      }
    });
    await this.#choose("ArrowDown", { has: name });
  }

  /** Runs a command of ours. */
  command(title: string): Promise<void> {
    return this.run(`Sandbox Agent: ${title}`);
  }

  get #input(): Locator {
    return this.#window.quick.locator("input.input").first();
  }

  /** Goes to an entry of the list that is open, and takes it. Where the list is, the input says to screen readers. */
  async #choose(key: string, which: { has?: Locator; hasText?: string }): Promise<void> {
    const chosen = async () => {
      const id = await this.#input.getAttribute("aria-activedescendant");
      return (
        (await this.#window.quick
          .locator(`[id="${id ?? ""}"]`)
          .filter(which)
          .count()) > 0
      );
    };
    await this.#step(key, "the entry of the list", chosen);
    await this.press("Enter");
  }

  /** Chooses the first entry with this text of the list that is open, by typing the text. */
  async pick(text: string): Promise<void> {
    await this.#window.rows(text).first().waitFor();
    await this.write(text);
    await this.#window.rows(text).first().waitFor();
    await this.#choose("ArrowDown", { hasText: text });
  }

  /** Opens a file of the folder in an editor. */
  async open(name: string): Promise<void> {
    await this.press("Control+P");
    await this.#input.waitFor();
    await this.write(name);
    await this.#window.quick.locator(".monaco-list-row.focused").filter({ hasText: name }).first().waitFor();
    await this.press("Enter");
    await this.#page.locator(".monaco-editor.focused").waitFor();
  }

  /** Enters a text into the input that is open, which may come after a list in the same place. */
  async enter(text: string): Promise<void> {
    await this.#window.quick.locator(".quick-input-list").waitFor({ state: "hidden" });
    await this.#input.waitFor();
    await this.write(text);
    await this.press("Enter");
  }

  /** Takes the text that the input offers, once it is open. */
  async confirm(text: string): Promise<void> {
    await until(`the input with ${text}`, async () => (await this.#input.inputValue()) === text);
    await this.press("Enter");
  }

  /** Answers a question that stops everything else. */
  async answer(question: string | RegExp, button: string): Promise<void> {
    const dialog = this.#window.dialog(question);
    await dialog.waitFor();
    await this.#step("Tab", `the button ${button}`, async () => (await this.active()) === button);
    await this.press("Enter");
    await dialog.waitFor({ state: "detached" });
  }

  /** Presses one of the buttons of a notification. */
  async notified(text: string | RegExp, button: string): Promise<void> {
    await this.#window.notification(text).waitFor();
    await this.run("Notifications: Focus Notification Toast");
    await this.#step("Tab", `the button ${button}`, async () => (await this.active()) === button);
    await this.press("Enter");
  }

  /** Goes to an entry of one of our views with trees; what is out of sight is not in the DOM, so all are passed. */
  async entry(view: string, text: string | RegExp): Promise<void> {
    await this.command(`Focus on ${view} View`);
    const chosen = this.#page.locator(".monaco-list:focus-within .monaco-list-row.focused");
    const name = () =>
      chosen.evaluateAll(([row, ...more]) => (more.length === 0 && row?.getAttribute("aria-label")) || null);
    await until(`the entry ${String(text)} of ${view}`, async () => {
      let before: string | null = null;
      await this.press("Home");
      for (let now = await name(); now !== before; now = await name()) {
        if ((await chosen.filter({ hasText: text }).count()) > 0) {
          return true;
        }
        before = now;
        await this.press("ArrowDown");
      }
      return false;
    });
  }

  /** Runs a command of the menu of what has the keyboard. */
  async menu(title: string): Promise<void> {
    await this.press("Shift+F10");
    const menu = this.#page.locator(".monaco-menu");
    await menu.waitFor();
    const chosen = menu.locator(".action-item.focused").filter({ hasText: title });
    await this.#step("ArrowDown", `${title} in the menu`, async () => (await chosen.count()) > 0);
    await this.press("Enter");
    await menu.waitFor({ state: "detached" });
  }

  /** Goes to a part of the conversation. */
  async part(part: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
    await part.waitFor();
    const step = () => this.#step(key, "a part of the conversation", () => hasFocus(part));
    try {
      await step();
    } catch {
      await this.command("Focus on Conversation View"); // something else took the keyboard when it was drawn
      await step();
    }
  }

  /** What has the keyboard, by its name or text. */
  active(): Promise<string> {
    return this.#page.evaluate(() => {
      const element = document.activeElement;
      return (element?.getAttribute("aria-label") ?? element?.textContent ?? "").trim();
    });
  }

  async #step(key: string, to: string, there: () => Promise<boolean>): Promise<void> {
    for (let presses = 0; !(await there()); presses++) {
      assert.ok(presses < farthest, `${to} is not reached by ${key}; the keyboard is at ${await this.active()}`);
      await this.press(key);
    }
  }
}

/** Whether a part of a page has the keyboard. */
function hasFocus(part: Locator): Promise<boolean> {
  return part.evaluate(
    (element) => element.ownerDocument.hasFocus() && element.ownerDocument.activeElement === element,
  );
}
