// The colours of code: they come beside the page, while a text grows too, and cost it neither time nor what it says.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { completed, delta, item, snapshot, started } from "../unit/model/make";
import { launch, open } from "./page";
import { diff } from "./samples";

/** The colours of words of code on the page; "" is none. */
function colours(page: Page, words: readonly string[]): Promise<string[]> {
  return page.evaluate(
    (all) =>
      all.map(
        (word) => [...document.querySelectorAll("pre span")].find((e) => e.textContent === word)?.className ?? "",
      ),
    words,
  );
}

describe("code on the page", () => {
  let browser: Browser;
  before(async () => (browser = await launch()));
  after(() => browser.close());

  it("is coloured, in messages, within lists and in diffs, and says what it said", async () => {
    const host = await open(browser);
    const text =
      "```ts\nconst a = 1; // one\n```\n\n- so:\n\n  ```py\n  def f(): pass\n  ```\n\n```nosuch\nconst b\n```\n";
    await host.show(
      snapshot(2, [
        item(1, { text }),
        item(2, { kind: "toolCall", tool: "apply_patch", text: "change parse.go", diff }),
      ]),
    );
    await host.page.locator("pre .c-number", { hasText: /^1$/ }).first().waitFor();
    await host.page.locator("pre.diff > .added .c-keyword", { hasText: "return" }).waitFor();
    await host.page.locator("pre .c-function", { hasText: "f" }).waitFor();
    assert.deepEqual(await colours(host.page, ["const", "// one", "def"]), ["c-keyword", "c-comment", "c-keyword"]);
    assert.deepEqual(await host.page.locator("pre.code").allInnerTexts(), [
      "const a = 1; // one",
      "def f(): pass",
      "const b",
    ]);
    assert.equal(await host.page.locator("pre.diff > .removed").innerText(), "-\t\treturn 1, nil\n");
    assert.deepEqual(host.errors, []);
  });

  it("is coloured line by line while it comes, and all of it in the end", async () => {
    const host = await open(browser);
    await host.show(snapshot(0, []));
    await host.send(started(1), delta(1, 0, "```go\nfunc a() {\n\tretu"));
    await host.page.locator("pre .c-keyword", { hasText: "func" }).waitFor();
    assert.deepEqual(await colours(host.page, ["return"]), [""]);
    await host.send(delta(1, 1, "rn 1\n"), delta(1, 2, "} // en"));
    await host.page.locator("pre .c-keyword", { hasText: "return" }).waitFor();
    assert.equal(await host.page.locator("pre.code").innerText(), "func a() {\n\treturn 1\n} // en");
    await host.send(completed(2, 1, { text: "```go\nfunc a() {\n\treturn 1\n} // end\n```" }));
    await host.page.locator("pre .c-comment", { hasText: "// end" }).waitFor();
  });

  it("knows in a later part of long code what an earlier one has begun", async () => {
    const host = await open(browser, { height: 2000 });
    const lines = Array.from({ length: 200 }, (_, i) => `line ${i}`);
    await host.show(snapshot(1, [item(1, { text: ["```c", "/*", ...lines, "*/", "int x;", "```"].join("\n") })]));
    await host.page.locator("pre .c-comment", { hasText: "line 199" }).waitFor();
    await host.page.locator("pre .c-type, pre .c-keyword", { hasText: "int" }).waitFor();
  });

  it("that takes too long holds nothing up, and is left as it is", async () => {
    const host = await open(browser);
    const slow = Array.from({ length: 60 }, () => "a ".repeat(490)).join("\n"); // far more than the patience for it
    await host.show(
      snapshot(1, [item(1, { text: `\`\`\`c\n${slow}\n\`\`\`\n\nAfter.\n\n\`\`\`c\nint fine;\n\`\`\`` })]),
    );
    const longest = await host.page.evaluate(async () => {
      let [last, most] = [performance.now(), 0];
      for (const end = last + 3000; last < end && !document.querySelector("pre .c-type, pre .c-keyword");) {
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        [last, most] = [now, Math.max(most, now - last)];
      }
      return most;
    });
    assert.ok(longest < 1000, `a frame took ${longest} ms`);
    await host.page.getByText("After.").waitFor();
    await host.page.locator("pre .c-type, pre .c-keyword", { hasText: "int" }).waitFor();
    assert.ok((await host.page.locator("pre.code").first().innerText()).startsWith("a a a"));
  });

  it("can be copied and put into the editor with the keyboard", async () => {
    const host = await open(browser);
    await host.show(snapshot(1, [item(1, { text: "```go\nx := 1\n```" })]));
    await host.page.getByRole("button", { name: "Copy Code" }).focus();
    await host.page.keyboard.press("Enter");
    await host.page.getByText("Copied").waitFor();
    await host.page.getByRole("button", { name: "Insert" }).focus();
    await host.page.keyboard.press("Enter");
    await host.page.waitForFunction(() => true);
    assert.deepEqual(host.called("copy"), [{ text: "x := 1\n" }]);
    assert.deepEqual(host.called("insertCode"), [{ text: "x := 1\n" }]);
  });
});
