// VS Code and Neovim on one session at a time: both show the same, either asks, answers and steers, and the other learns of it.
import assert from "node:assert/strict";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { AttachResult, Item } from "../../../editors/protocol.ts";
import { required } from "./harness/environment.ts";
import type { Installation } from "./harness/installation.ts";
import { endGroup } from "./harness/processes.ts";
import { suite } from "./harness/suite.ts";
import { until } from "./harness/wait.ts";
import { upwards } from "./script.ts";

const run = promisify(execFile);
const repository = join(import.meta.dirname, "../../..");

/** The path of a Neovim, got where that can be done; undefined where none can be had. */
async function program(): Promise<string | undefined> {
  const named = process.env.NVIM_0_12;
  if (named) {
    return named;
  }
  const prefix = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "sandbox-agent/nvim-0.12");
  try {
    await run(join(repository, "scripts/get-nvim"), ["0.12", prefix]);
    return join(prefix, "bin/nvim");
  } catch (error) {
    assert.ok(!process.env.CI, `Neovim cannot be had: ${String(error)}`);
    return undefined;
  }
}

/** Neovim is one without a screen, with the plugin of this repository, driven from outside as a user would by commands. */
class Neovim {
  readonly #program: string;
  readonly #socket: string;
  readonly #at: Installation;
  readonly #child: ChildProcess;

  constructor(program: string, at: Installation, folder: string) {
    this.#program = program;
    this.#at = at;
    this.#socket = join(at.home, "run/nvim.sock");
    const quiet = ["--headless", "--clean", "-n", "-u", "NONE", "-i", "NONE", "--listen", this.#socket];
    const plugin = ["--cmd", `set rtp^=${repository}/nvim`, "--cmd", "runtime plugin/sandbox_agent.lua"];
    const env = { ...at.env, PATH: `${required("PROGRAMS")}:${at.env.PATH ?? ""}` };
    this.#child = spawn(program, [...quiet, ...plugin], { cwd: folder, env, stdio: "ignore", detached: true });
  }

  /** The value of an expression. */
  async value(expression: string): Promise<string> {
    const { stdout, stderr } = await run(this.#program, ["--server", this.#socket, "--remote-expr", expression], {
      env: this.#at.env,
      maxBuffer: 64 << 20,
    });
    assert.equal(stderr, "", expression);
    return stdout;
  }

  /** Waits until it listens. */
  async started(): Promise<void> {
    await until("Neovim", () => this.value("1").catch(() => ""));
  }

  async command(text: string): Promise<void> {
    await this.value(`execute('SandboxAgent ${text.replaceAll("'", "''")}')`);
  }

  /** What its conversation shows. */
  text(): Promise<string> {
    return this.value(`join(getbufline(bufnr('^sandbox-agent://'), 1, '$'), "\\n")`);
  }

  async shows(text: string): Promise<void> {
    let shown = "";
    await until(
      () => `${text} in Neovim, which shows:\n${shown}`,
      async () => (shown = await this.text()).includes(text),
    );
  }

  /** The items of its session that it shows: a message without text says nothing, and is in no history. */
  async items(): Promise<Item[]> {
    const all = await this.value(`json_encode(luaeval("require('sandbox_agent.sessions').current().items"))`);
    return (JSON.parse(all) as Item[]).filter((item) => item.kind !== "agentMessage" || item.text || item.error);
  }

  stop(): Promise<void> {
    return endGroup(this.#child.pid ?? 0);
  }
}

const it = suite({ "greeting.txt": "first\nhello\nlast\n" });
const nvim = await program();

if (nvim === undefined) {
  test("VS Code and Neovim", { skip: "Neovim cannot be had here" }, () => undefined);
} else {
  it("one session in both: either answers, asks and steers, and both show the same", async (world) => {
    const { window, conversation, at, folder } = world;
    const neovim = new Neovim(nvim, at, folder);
    try {
      await window.showViews();
      await window.trust();
      await conversation.begin();
      await conversation.ask("touch the log");
      await conversation.button("Allow").first().waitFor();

      await neovim.started();
      await neovim.command("attach");
      await neovim.shows("May this run?");
      await neovim.command("approve");
      await conversation.log.getByText("Logged.").waitFor();
      await neovim.shows("Logged.");
      assert.equal(await conversation.button("Allow").count(), 0, "answered there is answered here");
      assert.equal(readFileSync(join(folder, "log"), "utf8"), "once\n");

      await neovim.command("ask touch the diary");
      await conversation.log.getByText("touch the diary").waitFor();
      await neovim.shows("May this run?");
      await conversation.allow();
      await neovim.shows("Noted.");
      assert.ok(!(await neovim.text()).includes("May this run?"), "answered here is answered there");
      assert.equal(readFileSync(join(folder, "diary"), "utf8"), "once\n");

      await conversation.ask("count slowly");
      await neovim.shows(upwards.first);
      await neovim.command("steer and say why");
      await conversation.log.getByText("and say why").waitFor();
      await window.command("Steer…");
      await window.enter("but be brief");
      await neovim.shows("but be brief");
      await until("the end of the turn", async () => (await at.sessions())[0]?.state.status === "idle");

      const [session] = await at.sessions();
      assert.equal((await at.sessions()).length, 1);
      const [attached] = (await at.agent("history", session?.id ?? "")) as AttachResult[];
      const wanted = (attached?.items ?? []).map((item) => item.id);
      await until("the same items in Neovim", async () => {
        const items = (await neovim.items()).map((item) => item.id);
        return items.join() === wanted.join();
      });
      for (const item of await neovim.items()) {
        if (item.kind === "userMessage" || item.kind === "agentMessage") {
          await conversation.log
            .getByText(item.text?.split(" ").slice(0, 4).join(" ") ?? "")
            .first()
            .waitFor();
        }
      }
    } finally {
      await neovim.stop();
    }
  });
}
