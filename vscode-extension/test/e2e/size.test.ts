// What long sessions take in one window of a real VS Code: of its memory, and of its page. SANDBOX_TEST_FULL=1 sets the full
// sizes. Times are in bench.ts: machines differ, counts and bytes do not.
import assert from "node:assert/strict";
import { Meter, told, type Taken } from "./harness/meter.ts";
import { withEnvironment } from "./harness/processes.ts";
import { activation } from "./harness/record.ts";
import { suite } from "./harness/suite.ts";
import { until } from "./harness/wait.ts";
import { innermost } from "./harness/apart.ts";
import { full, lookAtEverything, manyItems, turn } from "./parts/long.ts";
import { workDone } from "./script.ts";

const it = suite({ "greeting.txt": "first\nhello\nlast\n" }, { measures: true, limit: full ? 3_600_000 : 600_000 });

/** What is drawn at most: some screens, whatever there is to scroll through. */
const mostNodes = 6000;

const mebi = 2 ** 20;

it("does nothing in a window that does not use it", async ({ window, at }) => {
  assert.equal(await activation(window), undefined, "VS Code has not activated it");
  const ours = withEnvironment("HOME", at.home).filter(({ command }) => /\/sandbox-[a-z]+$/.test(command[0] ?? ""));
  assert.deepEqual(ours, [], "nothing of ours runs");
});

it("takes no more memory with every turn", async (world) => {
  const { at, conversation, window } = world;
  await window.trust();
  await window.showViews();
  await conversation.begin();
  const [session] = await at.sessions();
  assert.ok(session);
  const turns = full ? 500 : 60;
  const meter = await Meter.of(world);
  const taken: Taken[] = [];
  for (let n = 1; n <= turns; n++) {
    const asked = `do some work, time ${n}`;
    await turn(at, session.id, asked);
    if (n % (turns / 5) === 0) {
      await conversation.log.getByText(workDone(asked)).waitFor();
      const now = await meter.take();
      console.log(`after ${n} turns: ${told(now)}`);
      taken.push(now);
    }
  }
  await meter.close();
  const [first, last] = [taken[0], taken.at(-1)];
  assert.ok(first && last);
  // Until a window of 800 items is full, which takes some 160 turns, each turn may add what it says.
  const said = full ? 0 : ((turns * 4) / 5) * 24 * 1024;
  assert.ok(last.view - first.view < 2 * mebi + said, `the view: ${first.view}, then ${last.view} bytes`);
  assert.ok(last.host - first.host < 6 * mebi + said, `the extension host: ${first.host}, then ${last.host} bytes`);
  assert.ok(last.server - first.server < 24 * mebi, `the server: ${first.server}, then ${last.server} bytes`);
  assert.ok(last.nodes < mostNodes, `${last.nodes} nodes`);
  assert.ok(last.listeners - first.listeners < 100, `${first.listeners}, then ${last.listeners} listeners`);
});

it("shows a few of many items, from the last to the first", async (world) => {
  const { at, conversation, folder, window } = world;
  const [id, items] = await manyItems(at, folder, full ? 10_000 : 1_200);
  await window.tree("Many items").click();
  await conversation.title("Many items").waitFor();
  await conversation.log.getByText("That was it").last().waitFor();
  const page = innermost(window.page);
  const meter = await Meter.of(world);
  let most = 0;
  const first = conversation.log.getByRole("article").first();
  await until(
    "the first item",
    async () => {
      await conversation.log.getByRole("article").first().focus();
      await window.page.keyboard.press("Home");
      most = Math.max(most, await page.evaluate(() => document.querySelectorAll("*").length));
      return (
        (await first.getAttribute("aria-posinset")) === "1" && (await first.innerText()).includes(lookAtEverything(1))
      );
    },
    full ? 1_200_000 : 120_000,
  );
  console.log(`${items} items of ${id}: ${most} elements at most; ${told(await meter.take())}`);
  assert.ok(most < mostNodes, `${most} elements`);
  await meter.close();
});
