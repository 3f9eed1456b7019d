// The chat participant @sandbox in the chat of VS Code, which wants a language model before it calls one: see fakemodel/.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { upwards } from "./script.ts";
import { picture, suite } from "./harness/suite.ts";
import { until } from "./harness/wait.ts";
import type { Workbench } from "./harness/workbench.ts";

const it = suite({ "greeting.txt": "first\nhello\nlast\n" }, { chat: true });

/** Asks the participant, which the input names again by itself, and returns its response. */
async function ask(window: Workbench, text: string): Promise<Locator> {
  const { keyboard } = window.page;
  const chat = window.page.locator(".interactive-session");
  const input = chat.locator(".interactive-input-editor .monaco-editor").last();
  await input.click();
  await keyboard.press("Control+A");
  await keyboard.insertText(`@sandbox ${text} `); // in one piece: typed, each letter would have suggestions, which Enter takes
  await input.getByText(text).waitFor();
  await keyboard.press("Enter");
  await chat.locator(".interactive-request").filter({ hasText: text }).waitFor();
  return chat.locator(".interactive-response").last();
}

it("the answer comes as it is made", async ({ window, at }) => {
  await window.trust();
  await window.run("Chat: Open Chat");
  const response = await ask(window, "count slowly");
  await response.getByText(upwards.first).waitFor();
  assert.equal(await response.getByText(upwards.last).count(), 0, "it is not all there yet");
  await picture(window, "chat-streaming");
  await response.getByText(upwards.last).waitFor();
  await response.getByRole("button", { name: "Open", exact: true }).waitFor();
  assert.equal((await response.innerText()).split(upwards.first).length, 2, "once");
  await picture(window, "chat-answer");
  assert.equal((await at.sessions()).length, 1);
});

it("an approval is answered in the chat", async ({ window, folder }) => {
  const response = await ask(window, "touch the log");
  await response.getByText("echo once >> log").first().waitFor();
  await picture(window, "chat-approval");
  await response.getByRole("button", { name: "Allow", exact: true }).click();
  await response.getByText("Logged.").waitFor();
  assert.equal(readFileSync(join(folder, "log"), "utf8"), "once\n");
  await picture(window, "chat-allowed");
});

it("a change of files is read before it is allowed, and shown from the chat", async ({ window, conversation }) => {
  const response = await ask(window, "greet briefly");
  await response.getByText("change greeting.txt").waitFor();
  assert.equal(await response.getByRole("button", { name: "Allow", exact: true }).count(), 0, "it is read first");
  await response.getByRole("button", { name: "Open", exact: true }).click();
  await conversation.allow();
  await response.getByText("It is brief now.").waitFor();
  await response.getByRole("button", { name: "Show Diff", exact: true }).click();
  await window.page.locator(".monaco-diff-editor").first().waitFor();
  await picture(window, "chat-diff");
});

it("the chat's stop button stops the turn", async ({ window, at }) => {
  const response = await ask(window, "count backwards");
  await response.getByText("twenty nineteen").waitFor();
  await window.page.locator(".interactive-session .codicon-stop-circle").click();
  await until("the end of the turn", async () => (await at.sessions())[0]?.state.status === "idle");
  assert.equal(await response.getByText("two one").count(), 0, "it was stopped");
  await picture(window, "chat-stopped");
});

it("what is no command is refused", async ({ window }) => {
  const response = await ask(window, "/swich docker");
  await response.getByText("There is no command /swich. Did you mean /switch?").waitFor();
  await picture(window, "chat-refused");
});
