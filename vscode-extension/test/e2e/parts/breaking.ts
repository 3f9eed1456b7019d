// A program that does not fit the extension: it is said, with what helps.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { required } from "../harness/environment.ts";
import type { Installation } from "../harness/installation.ts";
import { picture, type It } from "../harness/suite.ts";
import { until } from "../harness/wait.ts";

/** A program in place of sandbox-agent, which the user's settings name; it can be exchanged. */
class StandIn {
  readonly #at: Installation;
  readonly #settings: string;
  readonly #before: string | undefined;
  readonly path: string;

  constructor(at: Installation) {
    this.#at = at;
    this.#settings = join(at.home, "editor/Machine/settings.json");
    this.#before = existsSync(this.#settings) ? readFileSync(this.#settings, "utf8") : undefined;
    this.path = join(at.home, "stand-in");
  }

  /** Makes it a script of the shell, or of another interpreter. Where $REAL stands the true program is meant. */
  is(script: string, interpreter = "/bin/sh"): void {
    const real = join(required("PROGRAMS"), "sandbox-agent");
    const next = `${this.path}.next`;
    writeFileSync(next, `#!${interpreter}\n${script.replaceAll("$REAL", real)}\n`);
    chmodSync(next, 0o755);
    renameSync(next, this.path);
  }

  /** Has the extension use it. */
  use(): void {
    mkdirSync(join(this.#at.home, "editor/Machine"), { recursive: true });
    this.#write(JSON.stringify({ ...JSON.parse(this.#before ?? "{}"), "sandboxAgent.server.path": this.path }));
  }

  /** Has the extension use what it used before. */
  leave(): void {
    this.#write(this.#before ?? "{}");
  }

  #write(text: string): void {
    writeFileSync(`${this.#settings}.next`, text);
    renameSync(`${this.#settings}.next`, this.#settings);
  }
}

export function breaking(it: It): void {
  it("a server of another version says so, with what helps", async ({ window, at, editor }) => {
    await window.showViews();
    await until("a server to be exchanged", () => editor.servers()[0]);
    const program = new StandIn(at);
    // The version is exchanged by one of the same length, since messages begin with theirs.
    program.is(
      `const { spawn } = require("node:child_process");
const child = spawn("$REAL", process.argv.slice(2), { stdio: ["inherit", "pipe", "inherit"] });
child.stdout.on("data", (data) => process.stdout.write(
  Buffer.from(data.toString("latin1").replace(/"version":"0\\.\\d\\.\\d"/, '"version":"9.9.9"'), "latin1")));
child.on("exit", (code) => process.exit(code ?? 1));`,
      process.execPath,
    );
    program.use();
    const warning = window.notification("The program sandbox-agent is version 9.9.9");
    await warning.getByRole("button", { name: "Open Settings" }).waitFor();
    await picture(window, "another-version");
    program.leave();
    await warning.getByRole("button", { name: /Clear/ }).click();
  });
}
