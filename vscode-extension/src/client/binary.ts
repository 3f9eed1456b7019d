// Finds the program sandbox-agent: where the user's setting says, else in this extension, else in PATH.
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import type { Problem } from "./rpc";

/** Where to look. */
export interface Places {
  /** The setting; "" for none. */
  readonly setting: string;
  /** The folder of the extension. */
  readonly extension: string;
  /** The PATH variable. */
  readonly path: string;
  readonly windows?: boolean;
}

/** A program, and who named it. */
export interface Program {
  readonly path: string;
  readonly source: "setting" | "extension" | "path";
}

/** Finds the program; a setting that names none is a problem, and nothing else is tried then. */
export function findProgram(places: Places, runs: (file: string) => boolean = isExecutable): Program | Problem {
  const name = places.windows ? "sandbox-agent.exe" : "sandbox-agent";
  if (places.setting !== "") return named(places.setting, runs);
  const bundled = join(places.extension, "bin", name);
  if (runs(bundled)) return { path: bundled, source: "extension" };
  for (const folder of places.path.split(delimiter)) {
    // A relative folder of PATH would mean one of the workspace, which must not choose what runs.
    if (isAbsolute(folder) && runs(join(folder, name))) return { path: join(folder, name), source: "path" };
  }
  return {
    message: "The program sandbox-agent is not found.",
    remedy: "Install it into a folder of your PATH, or set sandboxAgent.server.path.",
  };
}

function named(setting: string, runs: (file: string) => boolean): Program | Problem {
  const path = setting.replace(/^~(?=[/\\])/, homedir());
  if (!isAbsolute(path)) {
    return {
      message: `The setting sandboxAgent.server.path, ${setting}, is not an absolute path.`,
      remedy: "Name the program with its whole path.",
    };
  }
  if (!runs(path)) {
    return {
      message: `There is no program ${path} that can be run.`,
      remedy: "Correct the setting sandboxAgent.server.path, or clear it to use the one of the extension.",
    };
  }
  return { path, source: "setting" };
}

/** Whether a result of findProgram is a program. */
export function isProgram(found: Program | Problem): found is Program {
  return "path" in found;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
