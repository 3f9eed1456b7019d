import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import type { CommandName, Params, Result } from "../../../editors/protocol";
import { Backoff } from "../../src/client/backoff";
import { RpcError, type ServerState } from "../../src/client/rpc";
import { Supervisor, type Connection, type Listener } from "../../src/client/supervisor";
import { capabilities, settled } from "./rpc";

/** Servers that tests start, answer for and kill. */
class Servers {
  readonly started: { listener: Listener; closed: boolean; asked: object[] }[] = [];
  refuse: RpcError | undefined;
  answer: (params: object) => unknown = () => ({});

  readonly connect = (listener: Listener): Promise<Connection> => {
    if (this.refuse) return Promise.reject(this.refuse);
    const server = { listener, closed: false, asked: [] as object[] };
    this.started.push(server);
    return Promise.resolve({
      capabilities,
      request: async <C extends CommandName>(_: C, params: Params<C>) => {
        server.asked.push(params);
        return (await this.answer(params)) as Result<C>;
      },
      close: () => {
        server.closed = true;
        return Promise.resolve();
      },
    });
  };

  kill(): void {
    this.started.at(-1)?.listener.ended({ message: "The server ended (signal SIGKILL)." });
  }
}

function setup(): { servers: Servers; supervisor: Supervisor; states: string[] } {
  const servers = new Servers();
  const supervisor = new Supervisor(servers.connect, new Backoff(200, 10_000, 30_000, () => 0));
  const states: string[] = [];
  supervisor.onState((state: ServerState) => states.push(state.kind));
  return { servers, supervisor, states };
}

describe("the supervisor", () => {
  it("starts nothing before something is asked, and one server for all who ask", async () => {
    const { servers, supervisor, states } = setup();
    assert.equal(servers.started.length, 0);
    await Promise.all([supervisor.request("models", {}), supervisor.request("backends", {})]);
    assert.equal(servers.started.length, 1);
    assert.deepEqual(states, ["starting", "ready"]);
  });

  it("starts a server that ended again, with pauses that grow", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const { servers, supervisor } = setup();
      await supervisor.start();
      for (const pause of [200, 400, 800]) {
        servers.kill();
        const { state } = supervisor;
        assert.ok(state.kind === "waiting");
        assert.equal(state.pause, pause);
        const before = servers.started.length;
        mock.timers.tick(pause - 1);
        assert.equal(servers.started.length, before);
        mock.timers.tick(1);
        await settled();
        assert.equal(servers.started.length, before + 1);
        assert.equal(supervisor.state.kind, "ready");
      }
    } finally {
      mock.timers.reset();
    }
  });

  it("does not wait for the pause when something is asked", async () => {
    const { servers, supervisor } = setup();
    await supervisor.start();
    servers.kill();
    await supervisor.request("models", {});
    assert.equal(servers.started.length, 2);
    await supervisor.close();
  });

  it("repeats what has a requestId when the server ends before it has answered, and nothing else", async () => {
    const { servers, supervisor } = setup();
    servers.answer = () => {
      if (servers.started.length > 1) return { again: true };
      servers.kill();
      throw new Error("the connection is closed");
    };
    const repeated = await supervisor.request("pause", { sessionId: "s", requestId: "r" });
    assert.deepEqual(repeated, { again: true });
    assert.deepEqual(servers.started[1]?.asked, [{ sessionId: "s", requestId: "r" }]);

    const other = setup();
    other.servers.answer = () => {
      other.servers.kill();
      throw new Error("the connection is closed");
    };
    await assert.rejects(other.supervisor.request("pause", { sessionId: "s" }), { code: "exited" });
    assert.equal(other.servers.started.length, 1);
    await Promise.all([supervisor.close(), other.supervisor.close()]);
  });

  it("repeats also what met a connection that is broken before anybody knows", async () => {
    const { servers, supervisor } = setup();
    servers.answer = () => {
      if (servers.started.length > 1) return { again: true };
      setImmediate(() => servers.kill());
      throw new RpcError("exited", "The stream was destroyed.");
    };
    assert.deepEqual(await supervisor.request("pause", { sessionId: "s", requestId: "r" }), { again: true });
    assert.equal(servers.started[0]?.asked.length, 1);
    await supervisor.close();
  });

  it("tells why a server cannot be started, and tries again when asked again", async () => {
    const { servers, supervisor } = setup();
    servers.refuse = new RpcError("missing", "It is not found.", "Install it.");
    await assert.rejects(supervisor.request("models", {}), { code: "missing", message: "It is not found." });
    assert.deepEqual(supervisor.state, {
      kind: "failed",
      problem: { message: "It is not found.", remedy: "Install it." },
    });
    servers.refuse = undefined;
    await supervisor.request("models", {});
    assert.equal(supervisor.state.kind, "ready");
  });

  it("gives up after many failed starts in a row", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const { servers, supervisor, states } = setup();
      await supervisor.start();
      servers.refuse = new RpcError("exited", "It ended.");
      servers.kill();
      for (let i = 0; i < 20; i++) {
        mock.timers.tick(10_000);
        await settled();
      }
      assert.equal(supervisor.state.kind, "failed");
      assert.equal(states.filter((state) => state === "starting").length, 1 + 8);
    } finally {
      mock.timers.reset();
    }
  });

  it("restarts with new settings, but not what was never started", async () => {
    const { servers, supervisor } = setup();
    await supervisor.restart();
    assert.equal(servers.started.length, 0);
    await supervisor.start();
    await supervisor.restart();
    assert.deepEqual(
      servers.started.map(({ closed }) => closed),
      [true, false],
    );
  });

  it("ends for good", async () => {
    const { servers, supervisor } = setup();
    await supervisor.start();
    await supervisor.close();
    assert.equal(servers.started[0]?.closed, true);
    await assert.rejects(supervisor.request("models", {}), { code: "exited" });
  });
});

describe("the pauses", () => {
  it("begin anew after a time of health", () => {
    let now = 0;
    const backoff = new Backoff(100, 400, 1000, () => now);
    assert.deepEqual([backoff.pause(), backoff.pause(), backoff.pause(), backoff.pause()], [100, 200, 400, 400]);
    backoff.healthy();
    now = 900;
    assert.equal(backoff.pause(), 400);
    backoff.healthy();
    now = 2000;
    assert.equal(backoff.pause(), 100);
  });
});
