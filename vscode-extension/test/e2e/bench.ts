// How long things take in one window of a real VS Code. It prints numbers and judges none: machines differ. What it takes of
// memory is in size.test.ts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { innermost } from "./harness/apart.ts";
import { watched } from "./harness/frames.ts";
import { activation, type Activation } from "./harness/record.ts";
import { suite } from "./harness/suite.ts";
import { until } from "./harness/wait.ts";
import { now, Wire } from "./harness/wire.ts";
import { manyItems } from "./parts/long.ts";
import { longAnswer, wordCount } from "./script.ts";

const wire = new Wire();
const it = suite(
  { "greeting.txt": "first\nhello\nlast\n" },
  { measures: true, limit: 1_200_000, front: (models) => wire.before(models) },
);

const runs = Number(process.env.RUNS ?? 5);
const items = Number(process.env.ITEMS ?? 2000);

/** Prints the least, the middle and the greatest of some times, and how busy the machine is. */
function tell(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? NaN).toFixed(1);
  const [load] = readFileSync("/proc/loadavg", "utf8").split(" ");
  console.log(
    `${what}: ${at(0)} / ${at(0.5)} / ${at(0.95)} / ${at(1)} ms (least, median, p95, most of ${times.length}; load ${load})`,
  );
}

function tellActivations(what: string, all: readonly Activation[]): void {
  for (const part of ["load", "call", "finish"] as const) {
    tell(
      `${what} (${all[0]?.event}), ${part}`,
      all.map((one) => one[part]),
    );
  }
}

it("activation, as VS Code records it", async ({ window, conversation, editor }) => {
  await window.trust();
  const again = async (): Promise<void> => {
    await window.page.locator(".activitybar").getByRole("tab", { name: "Explorer" }).click();
    await window.reload();
    await until("the end of the server", () => editor.servers().length === 0);
  };
  const [views, commands]: [Activation[], Activation[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    await again();
    await window.showViews();
    await conversation.input.waitFor();
    views.push((await activation(window)) ?? assert.fail("a view activates it"));
    await again();
    await window.command("Show Sessions");
    await window.notification("There is no session yet").waitFor();
    commands.push((await activation(window)) ?? assert.fail("a command activates it"));
  }
  tellActivations("the first view", views);
  tellActivations("the first command", commands);
  await window.showViews();
});

it("the way of a question, and of each word of its answer", async ({ window, conversation }) => {
  await conversation.begin();
  const page = innermost(window.page);
  const [asking, words]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    wire.said.clear();
    const before = wire.asked.length;
    let entered = 0;
    const { words: seen } = await watched(page, async () => {
      await conversation.input.fill(`say words, time ${run}`);
      entered = now();
      await conversation.input.press("Enter");
      await conversation.button("Stop").waitFor();
      await conversation.button("Stop").waitFor({ state: "detached" });
    });
    asking.push((wire.asked[before] ?? NaN) - entered);
    for (const [word, said] of wire.said) {
      const at = seen[word];
      if (at !== undefined) {
        words.push(at - said);
      }
    }
  }
  assert.ok(words.length > (runs * wordCount) / 2, `${words.length} words were seen`);
  tell("from Enter to the request at the model", asking);
  tell("from a word of the model to the page", words);
});

it("an answer of 1 MB while it is streamed", async ({ window, conversation }) => {
  const page = innermost(window.page);
  const { longest, tasks, keys } = await watched(page, async () => {
    await conversation.input.fill("a long answer");
    await conversation.input.press("Enter");
    while (!(await conversation.log.getByText(longAnswer.last).isVisible())) {
      await conversation.input.press("x");
    }
  });
  await conversation.input.fill("");
  console.log(`1 MB: ${tasks} tasks of more than 50 ms, the longest ${longest} ms`);
  tell("1 MB: from a key to its frame", keys);
});

it("100,000 lines of a command", async ({ window, conversation }) => {
  const { longest, tasks } = await watched(innermost(window.page), async () => {
    await conversation.ask("print a lot");
    await conversation.log.getByText("That was a lot.").waitFor();
  });
  console.log(`100,000 lines: ${tasks} tasks of more than 50 ms, the longest ${longest} ms`);
});

it("a session of many items", async ({ at, window, conversation, folder }) => {
  const [, count] = await manyItems(at, folder, items);
  await window.tree("Many items").waitFor();
  const began = now();
  await window.tree("Many items").click();
  await conversation.log.getByText("That was it").last().waitFor();
  console.log(`${count} items: ${(now() - began).toFixed(0)} ms until the end of it is shown`);
  const page = innermost(window.page);
  const list = conversation.frame.locator(".list");
  const first = conversation.log.getByRole("article").first();
  let presses = 0;
  const up = await watched(page, async () => {
    await conversation.log.getByRole("article").last().focus();
    await until(
      "the first item",
      async () => {
        presses++;
        await first.focus();
        await window.page.keyboard.press("Home");
        return (await conversation.log.getByText("look at everything, time 1", { exact: true }).count()) > 0;
      },
      600_000,
    );
  });
  console.log(
    `${count} items, to the first with ${presses} times Home: ${up.tasks} tasks of more than 50 ms, the longest ${up.longest} ms`,
  );
  const wheel = await watched(page, async () => {
    await list.hover();
    for (let turns = 0; turns < 200; turns++) {
      await window.page.mouse.wheel(0, 700);
    }
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  });
  console.log(
    `${count} items, 200 turns of the wheel: ${wheel.tasks} tasks of more than 50 ms, the longest ${wheel.longest} ms`,
  );
});
