// Which changes the user has accepted, remembered with the workspace. To accept a change is to have seen it: nothing happens to
// the file, and a change that differs afterwards is a new one.
import type { Memento } from "vscode";

const key = "sandboxAgent.accepted";
const keptSessions = 50;
const keptChanges = 5000;

type Accepted = Record<string, string[]>;

export class Decisions {
  constructor(private readonly memory: Pick<Memento, "get" | "update">) {}

  accepted(session: string): ReadonlySet<string> {
    return new Set(this.all()[session]);
  }

  /** Remembers changes by their ids. */
  async accept(session: string, ids: readonly string[]): Promise<void> {
    const { [session]: before = [], ...others } = this.all();
    const kept = Object.entries(others).slice(-(keptSessions - 1));
    const now = [...new Set([...before, ...ids])].slice(-keptChanges);
    await this.memory.update(key, { ...Object.fromEntries(kept), [session]: now });
  }

  async withdraw(session: string, ids: readonly string[]): Promise<void> {
    const all = this.all();
    const gone = new Set(ids);
    await this.memory.update(key, { ...all, [session]: (all[session] ?? []).filter((id) => !gone.has(id)) });
  }

  private all(): Accepted {
    return this.memory.get<Accepted>(key, {});
  }
}
