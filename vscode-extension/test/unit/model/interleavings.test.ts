// Whatever a connection does, whoever is attached in the end sees what somebody has seen who was attached all the time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AttachResult, Event, EventMessage, Item } from "../../../../editors/protocol";
import { applied, attached, emptyView, type SessionView } from "../../../src/model/session";
import { approval, at, item, message, session } from "./make";

/** Numbers that look random and are the same each time (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

/** A session as the server has it: what happened, and what that made. */
class Server {
  readonly events: EventMessage[] = [];
  private readonly items = new Map<string, Item>();
  private readonly approvals = new Map<string, ReturnType<typeof approval>>();
  private state = session().state;
  private turnId = 1;

  constructor(private readonly random: (below: number) => number) {}

  /** Something durable happens. */
  happen(): void {
    const open = [...this.items.values()].filter(({ status }) => status === "inProgress");
    const one = open[this.random(open.length || 1)];
    const asked = [...this.approvals.values()][0];
    const seq = this.events.length + 1;
    switch (this.random(7)) {
      case 0:
        this.emit({ type: "turn/started", turnId: ++this.turnId });
        break;
      case 1:
        this.state = { status: "running", reason: `${seq}`, since: at };
        this.emit({ type: "state/changed", state: this.state });
        break;
      case 2:
        if (one) this.complete({ ...one, status: "completed", text: `whole ${seq}` });
        break;
      case 3:
        if (asked) this.resolve(asked.id);
        else this.ask(`a${seq}`);
        break;
      case 4:
        this.start(item(seq, { status: "inProgress", kind: "userMessage", turnId: this.turnId + 1, queued: true }));
        break;
      default:
        this.start(item(seq, { status: "inProgress", turnId: this.turnId }));
    }
  }

  private start(started: Item): void {
    this.items.set(started.id, started);
    this.emit({ type: "item/started", item: started });
  }

  private complete(done: Item): void {
    this.items.set(done.id, done);
    this.emit({ type: "item/completed", item: done });
  }

  private ask(id: string): void {
    const asked = approval(id);
    this.approvals.set(id, asked);
    this.emit({ type: "approval/requested", approval: asked });
  }

  private resolve(id: string): void {
    this.approvals.delete(id);
    this.emit({ type: "approval/resolved", approval: approval(id) });
  }

  private emit(event: Event): void {
    this.events.push(message(this.events.length + 1, event));
  }

  /** Answers attach: what followed after, or a snapshot where that is too much or not wanted. */
  attach(after: number | undefined): AttachResult {
    const rest = { pendingApprovals: [...this.approvals.values()], queued: [], background: [] };
    const now = {
      session: session({ state: this.state, turnId: this.turnId }),
      state: this.state,
      seq: this.events.length,
      ...rest,
    };
    const missed = this.events.slice(after);
    return after === undefined || missed.length > 20
      ? { ...now, items: [...this.items.values()] }
      : { ...now, events: missed };
  }
}

/** What must be the same for all. */
function seen({ items, state, seq, pendingApprovals, queued, session: known }: SessionView): object {
  return { items, state, seq, pendingApprovals, queued, turnId: known?.turnId };
}

describe("a connection that breaks", () => {
  it("leaves nothing out and nothing twice, in 500 histories", () => {
    for (let seed = 1; seed <= 500; seed++) {
      const random = numbers(seed);
      const server = new Server(random);
      let steady = attached(emptyView("s1"), server.attach(undefined));
      let shaky = attached(emptyView("s1"), server.attach(undefined));
      for (let step = 0; step < 60; step++) {
        server.happen();
        const last = server.events.at(-1);
        if (!last || last.seq <= steady.seq) continue;
        steady = applied(steady, last);
        if (random(3) > 0) shaky = applied(shaky, last); // else it is lost on the way
        if (random(4) === 0) for (const old of server.events.slice(-random(5) - 1)) shaky = applied(shaky, old); // some come late, or again
        if (shaky.missed || random(8) === 0)
          shaky = attached(shaky, server.attach(random(4) === 0 ? undefined : shaky.seq));
        assert.equal(shaky.missed, false);
      }
      shaky = attached(shaky, server.attach(shaky.seq));
      assert.deepEqual(seen(shaky), seen(steady), `history ${seed}`);
    }
  });
});
