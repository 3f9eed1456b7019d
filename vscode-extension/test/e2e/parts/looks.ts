// How it looks where much or unusual things are shown.
import assert from "node:assert/strict";
import { picture, type It } from "../harness/suite.ts";
import { longAnswer, rightToLeft } from "../script.ts";

const longTitle = `A title that is much too long for any side bar ${"and goes on ".repeat(8)}🎉 עד הסוף`;

export function looks(it: It): void {
  it("an answer of 1 MB: its end is there, older parts are reached, and the DOM stays small", async ({
    conversation,
  }) => {
    await conversation.begin();
    await conversation.ask("a long answer");
    await conversation.log.getByText(longAnswer.last).waitFor();
    const nodes = await conversation.log.evaluate((log) => log.querySelectorAll("*").length);
    assert.ok(nodes < 20_000, `the log has ${nodes} elements`);
  });

  it("text from right to left, emoji, and long titles", async ({ window, conversation, at }) => {
    await conversation.begin();
    await conversation.ask("right to left");
    const answer = conversation.log.getByText(rightToLeft);
    await answer.waitFor();
    assert.equal(await answer.evaluate((element) => getComputedStyle(element).direction), "rtl");
    await window.command("Rename Session…");
    await window.enter(longTitle);
    await window.tree("A title that is much too long").waitFor();
    assert.equal((await at.sessions())[0]?.title, longTitle);
    await picture(window, "right-to-left");
  });

  it("a narrow side bar: nothing is cut off sideways", async ({ window, conversation }) => {
    await window.resizeSideBar(250);
    const overflow = await conversation.frame.locator("body").evaluate((body) => body.scrollWidth - body.clientWidth);
    assert.ok(overflow <= 0, `${overflow} pixels are cut off`);
    await picture(window, "narrow");
    await window.resizeSideBar(480);
  });

  it("a theme of high contrast", async ({ window, conversation }) => {
    await window.theme("Dark High Contrast");
    await conversation.frame.locator("body.vscode-high-contrast").waitFor();
    await picture(window, "high-contrast");
    await window.theme("Dark Modern");
  });
}
