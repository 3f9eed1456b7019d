// This file puts a program in place of sandbox-agent which can be exchanged while VS Code runs.
import { chmodSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { required } from "./environment.ts";
import type { Installation } from "./installation.ts";

/** StandIn is a script that is started as sandbox-agent. It is exchanged by the next start, as after the end of the server. */
export class StandIn {
  #path = "";

  /** Makes it the true program within an installation; returns its path. */
  install(at: Installation): string {
    this.#path = join(at.home, "stand-in");
    this.isTrue();
    return this.#path;
  }

  /** Makes it the true program. */
  isTrue(): void {
    this.is('exec "$REAL" "$@"');
  }

  /** Makes it a script of the shell, or of another interpreter. Where $REAL stands the true program is meant. */
  is(script: string, interpreter = "/bin/sh"): void {
    const real = join(required("PROGRAMS"), "sandbox-agent");
    const next = `${this.#path}.next`;
    writeFileSync(next, `#!${interpreter}\n${script.replaceAll("$REAL", real)}\n`);
    chmodSync(next, 0o755);
    renameSync(next, this.#path); // a script that runs is read on
  }
}
