// This file gives a file of tests its one window, and a test that fails its picture.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launch, profile } from "./browser.ts";
import { Conversation } from "./conversation.ts";
import { Editor } from "./editor.ts";
import { Installation } from "./installation.ts";
import { Keys } from "./keys.ts";
import { Workbench } from "./workbench.ts";

/** Everything that a suite has running. */
export interface World {
  readonly at: Installation;
  readonly editor: Editor;
  readonly window: Workbench;
  readonly conversation: Conversation;
  readonly keys: Keys;
  /** the folder that is open */
  readonly folder: string;
}

/** How long a test may take, in milliseconds: longer than what it waits for. */
const usual = 180_000;

/** After so many failures nothing more is to be learned, and each takes a while. */
const enough = 4;

const pictures = process.env.PICTURES ?? "dist/pictures";

/** Takes a picture of the window into dist/pictures. */
export async function picture(window: Workbench, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  await window.page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** A test of a part of the suite; the window is as the test before left it. */
export type It = (name: string, body: (world: World) => Promise<void>) => void;

/** How a suite is set up. */
export interface Setting {
  /** What the parts of the window take can be told apart. */
  readonly measures?: boolean;
  /** Stands before the model: gets its address, and returns that of itself. */
  readonly front?: (models: string) => Promise<string>;
  /** How long a test may take, in milliseconds. */
  readonly limit?: number;
  /** Puts something in place of sandbox-agent, and returns its path. */
  readonly program?: (at: Installation) => string;
  /** VS Code has its chat. */
  readonly chat?: boolean;
}

/** Opens a window on a folder with these files before the tests, and ends everything after them. */
export function suite(files: Record<string, string>, setting: Setting = {}): It {
  const { measures, front, program, limit = usual, chat } = setting;
  let browser: Browser | undefined;
  let at: Installation | undefined;
  let editor: Editor | undefined;
  let world: World | undefined;
  let failures = 0;
  const outside: string[] = [];

  before(
    async () => {
      at = await Installation.create(front);
      const folder = at.folder("work", files);
      editor = await Editor.start(at, chat, program?.(at));
      browser = await launch();
      const window = await Workbench.open(await profile(browser, outside, measures), editor.url(folder));
      world = { at, editor, window, conversation: new Conversation(window), keys: new Keys(window), folder };
    },
    { timeout: usual },
  );

  after(
    async () => {
      await browser?.close();
      await editor?.stop();
      await at?.remove();
      assert.deepEqual(outside, [], "nothing is loaded from elsewhere");
    },
    { timeout: usual },
  );

  return (name, body) => {
    test(name, { timeout: limit }, async () => {
      assert.ok(world, "there is a window");
      assert.ok(failures < enough, `${enough} tests have failed before`);
      try {
        await body(world);
      } catch (error) {
        failures++;
        await picture(world.window, `failed-${name.replace(/\W+/g, "-")}`);
        await world.window.page.keyboard.press("Escape"); // what is open would stand in the way of the next test
        throw error;
      }
    });
  };
}
