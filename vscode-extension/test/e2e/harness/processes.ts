// This file finds and ends processes, as /proc shows them.
import { readdirSync, readFileSync } from "node:fs";
import { until } from "./wait.ts";

/** Process is one entry of /proc. */
export interface Process {
  pid: number;
  parent: number;
  command: string[];
}

function read(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
    return state === "Z" ? undefined : { pid, parent: Number(parent), command };
  } catch {
    return undefined; // it has ended
  }
}

/** All processes that are no zombies. */
export function processes(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => read(Number(name)))
    .filter((process) => process !== undefined);
}

/** The processes that descend from one. */
export function descendants(root: number): Process[] {
  const all = processes();
  const found = new Set([root]);
  for (let before = 0; before !== found.size;) {
    before = found.size;
    all.filter((process) => found.has(process.parent)).forEach((process) => found.add(process.pid));
  }
  found.delete(root);
  return all.filter((process) => found.has(process.pid));
}

/** The processes whose environment has this variable with this value. */
export function withEnvironment(name: string, value: string): Process[] {
  return processes().filter((process) => {
    try {
      return readFileSync(`/proc/${process.pid}/environ`, "utf8").split("\0").includes(`${name}=${value}`);
    } catch {
      return false; // it has ended, or is not ours
    }
  });
}

/** Sends a signal to a process, or with a negative id to a process group; one that is gone already is as wanted. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") {
      throw error;
    }
  }
}

function alive(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

/** Ends a process group: politely, and by force what has not gone after some seconds. */
export async function endGroup(group: number): Promise<void> {
  signal(-group, "SIGTERM");
  try {
    await until(`the end of process group ${group}`, () => !alive(group), 5000);
  } catch {
    signal(-group, "SIGKILL");
  }
}
