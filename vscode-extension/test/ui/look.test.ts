// Pictures of the page in each theme and width, for people to look at: SANDBOX_AGENT_UI_PICTURES=DIR keeps them.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { at, item, session, snapshot } from "../unit/model/make";
import { sample } from "./samples";
import { launch, open, type Options } from "./page";

const state = { status: "failed" as const, reason: "The model does not answer.", remedy: "Try again.", since: at };
const failed = snapshot(1, [item(1, { kind: "userMessage", text: "Why?" })], { session: session({ state }), state });
const empty = snapshot(0, []);

/**
 * The texts that have less contrast than WCAG AA asks for: 4.5 to what is behind them, and 3 for signs.
 * What is disabled may.
 */
function pale(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    if (!canvas) throw new Error("no canvas");
    const ground = (element: Element): void => {
      if (element.parentElement) ground(element.parentElement);
      canvas.fillStyle = getComputedStyle(element).backgroundColor;
      canvas.fillRect(0, 0, 1, 1);
    };
    const luminance = (): number => {
      const [r = 0, g = 0, b = 0] = [...canvas.getImageData(0, 0, 1, 1).data].map((byte) => {
        const part = byte / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (element: Element): number => {
      ground(element);
      const behind = luminance();
      canvas.fillStyle = getComputedStyle(element).color;
      canvas.fillRect(0, 0, 1, 1);
      const before = luminance();
      return (Math.max(before, behind) + 0.05) / (Math.min(before, behind) + 0.05);
    };
    return [...document.querySelectorAll("#root *")]
      .filter((e) => [...e.childNodes].some((node) => node.nodeType === 3 && /\S/.test(node.textContent ?? "")))
      .filter((e) => !e.closest(":disabled, .unseen"))
      .map((e) => ({ e, ratio: contrast(e) }))
      .filter(({ e, ratio }) => ratio < (e.ariaHidden ? 3 : 4.5))
      .map(({ e, ratio }) => `${e.tagName} .${e.className} ${e.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  });
}

const pictures = process.env.SANDBOX_AGENT_UI_PICTURES;

describe("the page", () => {
  let browser: Browser;
  before(async () => (browser = await launch()));
  after(() => browser.close());

  const looks: [string, Options][] = [
    ["dark", { theme: "dark", height: 1400 }],
    ["light", { theme: "light", height: 1400 }],
    ["contrast", { theme: "contrast", height: 1400 }],
    ["narrow", { theme: "dark", width: 250, height: 1400 }],
    ["wide", { theme: "light", width: 900, height: 1200 }],
  ];
  for (const [name, options] of looks) {
    it(`fits its width and breaks no rule: ${name}`, async () => {
      const host = await open(browser, options);
      await host.show(sample());
      await host.page.locator("pre.diff .c-keyword").first().waitFor();
      await host.page.locator(".code-block .c-keyword").first().waitFor();
      const { scrollWidth, clientWidth } = await host.page.evaluate(() => ({
        scrollWidth: document.documentElement.scrollWidth,
        clientWidth: document.documentElement.clientWidth,
      }));
      assert.ok(scrollWidth <= clientWidth, `${scrollWidth} > ${clientWidth}`);
      const wide = await host.page.evaluate(() =>
        [...document.querySelectorAll(".row, .header, .panel, .composer")]
          .filter((e) => e.scrollWidth > e.clientWidth + 1)
          .map((e) => e.textContent),
      );
      assert.deepEqual(wide, []);
      assert.deepEqual(host.errors, []);
      if (pictures) await host.page.screenshot({ path: join(pictures, `${name}.png`) });
      assert.deepEqual(await pale(host.page), []);
      await host.show(empty);
      assert.deepEqual(await pale(host.page), []);
      if (pictures) await host.page.screenshot({ path: join(pictures, `${name}-empty.png`) });
      await host.show(failed);
      assert.deepEqual(await pale(host.page), []);
      if (pictures) await host.page.screenshot({ path: join(pictures, `${name}-failed.png`) });
      await host.page.context().close();
    });
  }

  it("keeps a part of the conversation and the whole input reachable where it is low, as when all is magnified", async () => {
    const host = await open(browser, { width: 250, height: 150 });
    await host.show(sample());
    const list = await host.page.locator(".list").boundingBox();
    assert.ok(list && list.height >= 80, JSON.stringify(list));
    for (const part of [".composer textarea", ".composer button", ".header .title"]) {
      await host.page.locator(part).first().scrollIntoViewIfNeeded();
      const box = await host.page.locator(part).first().boundingBox();
      assert.ok(box && box.y >= 0 && box.y + box.height <= 150, `${part}: ${JSON.stringify(box)}`);
    }
    if (pictures) await host.page.screenshot({ path: join(pictures, "low.png") });
    await host.page.context().close();
  });
});
