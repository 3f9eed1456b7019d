// The page in a language whose every text is in brackets: what has none was forgotten.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { at, item, session, snapshot } from "../unit/model/make";
import { file, launch, open } from "./page";
import { sample } from "./samples";

const bundle = JSON.parse(file("l10n/bundle.l10n.json")) as Record<string, string>;
const texts = Object.fromEntries(Object.keys(bundle).map((text) => [text, `⟦${text}⟧`]));

/** What people, models and commands have said, and signs. */
const others = [".said", ".agent", "code", "pre", ".title", ".problem", ".reason", "[aria-hidden]", ".link", ".since"];

/** The texts and names on the page that are in no brackets. */
function foreign(page: Page): Promise<string[]> {
  return page.evaluate((parts) => {
    const out: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.parentElement?.closest(["script", "style", ...parts].join()) && /\p{L}/u.test(node.textContent ?? ""))
        out.push(node.textContent ?? "");
    }
    for (const element of document.querySelectorAll("[aria-label],[title],[placeholder]"))
      for (const name of ["aria-label", "title", "placeholder"]) {
        const value = element.getAttribute(name);
        if (value && !element.closest("a, code, .reason")) out.push(value);
      }
    return out.filter((text) => !text.includes("⟦"));
  }, others);
}

describe("the page in another language", () => {
  let browser: Browser;
  before(async () => (browser = await launch()));
  after(() => browser.close());

  it("has every text in it", async () => {
    const host = await open(browser, { height: 3000, texts });
    await host.show(sample({ background: [{ itemId: "i6", turnId: 1, command: "make", at }] }));
    // A model, an effort, a step of the plan, and what a fence says of its code have no language.
    const known = [
      "Docker",
      "It asks for the network",
      "gpt-5.6-sol",
      "Find the fault",
      "Fix it and",
      "Tell what",
      "Looking at",
      "go",
    ];
    assert.deepEqual(
      (await foreign(host.page)).filter((text) => !known.some((word) => text.startsWith(word))),
      [],
    );
  });

  it("has it where there is no session, and where a turn failed", async () => {
    const host = await open(browser, { texts });
    host.post({ type: "session", batch: 1 });
    await host.page.locator(".welcome h2").waitFor();
    assert.deepEqual(await foreign(host.page), []);
    const state = { status: "failed" as const, reason: "no key", remedy: "set one", since: at };
    await host.show(snapshot(1, [item(1, { kind: "userMessage", text: "x" })], { session: session({ state }), state }));
    await host.page.locator(".failure").waitFor();
    assert.deepEqual(
      (await foreign(host.page)).filter((text) => !["demo", "set one"].some((one) => text.startsWith(one))),
      [],
    );
  });
});
