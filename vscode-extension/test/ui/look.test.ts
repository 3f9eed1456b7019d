// Pictures of the page in each theme and width, for people to look at: SANDBOX_AGENT_UI_PICTURES=DIR keeps them.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { sample } from "./samples";
import { launch, open, type Options } from "./page";

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
      await host.page.context().close();
    });
  }
});
