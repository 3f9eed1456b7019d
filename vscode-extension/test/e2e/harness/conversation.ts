// This file drives the conversation, the web view of the extension, by what its parts are called for everybody.
import type { FrameLocator, Locator } from "playwright-core";
import type { Workbench } from "./workbench.ts";

/** Conversation is what the web view of a window shows. */
export class Conversation {
  readonly #window: Workbench;

  constructor(window: Workbench) {
    this.#window = window;
  }

  get frame(): FrameLocator {
    return this.#window.webview;
  }

  /** What was said and done. */
  get log(): Locator {
    return this.frame.getByRole("feed", { name: "Conversation" });
  }

  get input(): Locator {
    return this.frame.getByRole("textbox", { name: "Message to the agent" });
  }

  /** The title that is shown above. */
  title(text: string | RegExp): Locator {
    return this.frame.locator(".header .title").filter({ hasText: text });
  }

  button(name: string | RegExp): Locator {
    return this.frame.getByRole("button", { name, exact: true });
  }

  /** Begins a session in the open folder. */
  async begin(): Promise<void> {
    await this.#window.command("New Session…");
    await this.#window.pick("local folder");
    await this.title(/^Session [0-9a-f]+$/).waitFor();
  }

  /** Writes a message and sends it. */
  async ask(text: string): Promise<void> {
    await this.input.fill(text);
    await this.input.press("Enter");
    await this.log.getByText(text).last().waitFor();
  }

  /** Allows what is asked for. */
  async allow(): Promise<void> {
    await this.button("Allow").last().click();
  }

  /** What the command printed whose line has this text; opens it first. */
  async output(command: string): Promise<string> {
    const call = this.log.locator(".tool").filter({ hasText: command }).last();
    const head = call.getByRole("button", { expanded: false });
    if ((await head.count()) > 0) {
      await head.first().click();
    }
    return call.locator("pre.output").innerText();
  }
}
