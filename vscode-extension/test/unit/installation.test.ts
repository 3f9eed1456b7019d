import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { conflictDetails, details, summary } from "../../src/commands/carrytext";
import type { Carry } from "../../../editors/protocol";
import { RpcError, rpcError } from "../../src/client/rpc";
import { obstacle, Obstacles, type Facts } from "../../src/obstacles";
import { Secrets } from "../../src/secrets";
import { statusOf } from "../../src/status";
import { mismatch } from "../../src/version";
import { attached, emptyView } from "../../src/model/session";
import { session, snapshot } from "./model/make";
import { capabilities, FakeRpc, settled } from "./rpc";
import { EventEmitter, world } from "./vscode";

beforeEach(() => world.reset());

describe("obstacles", () => {
  const facts: Facts = { trusted: true, folder: true, server: { kind: "ready", capabilities } };
  const failed: Facts["server"] = { kind: "failed", problem: { message: "It is not found.", remedy: "Install it." } };
  const keyless = { id: "gpt", provider: "openai", available: false, reason: "there is no key" };

  it("are told in the order in which the user meets them", () => {
    const all: Facts = {
      trusted: false,
      folder: false,
      server: failed,
      worker: { message: "No worker." },
      model: keyless,
    };
    assert.equal(obstacle(all)?.kind, "untrusted");
    assert.equal(obstacle({ ...all, trusted: true })?.kind, "noFolder");
    assert.equal(obstacle({ ...all, trusted: true, folder: true })?.kind, "missing");
    assert.equal(obstacle({ ...all, trusted: true, folder: true, server: facts.server })?.kind, "noWorker");
    assert.equal(obstacle({ ...facts, model: keyless })?.kind, "noKey");
    assert.equal(obstacle({ ...facts, model: { ...keyless, provider: "demo" } }), undefined);
    assert.equal(obstacle(facts), undefined);
  });

  it("say what to do", () => {
    assert.deepEqual(obstacle({ ...facts, server: failed }), {
      kind: "missing",
      message: "It is not found. Install it.",
      action: { title: "Find Out Why", command: "sandboxAgent.doctor" },
    });
    assert.equal(obstacle({ ...facts, model: keyless })?.message, "The model gpt cannot be used: there is no key.");
  });

  it("come and go with what is learnt, and are told in the context", () => {
    world.folders = [world.folder("/w")];
    const rpc = new FakeRpc();
    const obstacles = new Obstacles(rpc, () => "");
    let changes = 0;
    obstacles.onDidChange(() => changes++);
    rpc.ready();
    obstacles.noted(new RpcError("conflict", "The turn has ended."));
    assert.equal(obstacles.current, undefined);
    obstacles.noted(new RpcError("workerUnavailable", "No worker polls.", "Start it."));
    assert.equal(world.context.get("sandboxAgent.obstacle"), "noWorker");
    obstacles.noted();
    assert.equal(world.context.get("sandboxAgent.obstacle"), "");
    assert.equal(obstacles.current, undefined);
    assert.ok(changes >= 2);
    obstacles.dispose();
  });
});

describe("a missing key", () => {
  it("is no obstacle once the worker says that it has one", async () => {
    world.folders = [world.folder("/w")];
    const rpc = new FakeRpc();
    const model = { id: "gpt", provider: "openai", available: false, reason: "there is no key" } as const;
    const answers: boolean[] = [false, true];
    rpc.answers.models = () => ({ models: [{ ...model, available: answers.shift() ?? true }], defaultModel: "gpt" });
    const obstacles = new Obstacles(rpc, () => "gpt");
    rpc.become({ kind: "ready", capabilities: { ...capabilities, models: [model] } });
    assert.equal(obstacles.current?.kind, "noKey", "as the server knows it at once");
    await settled();
    assert.equal(obstacles.current.kind, "noKey");
    await obstacles.refresh();
    assert.equal(obstacles.current, undefined);
    obstacles.dispose();
  });
});

describe("keys", () => {
  class Storage {
    readonly values = new Map<string, string>();
    readonly onDidChange = new EventEmitter<{ key: string }>().event;
    get(key: string): Promise<string | undefined> {
      return Promise.resolve(this.values.get(key));
    }
    store(key: string, value: string): Promise<void> {
      this.values.set(key, value);
      return Promise.resolve();
    }
    delete(key: string): Promise<void> {
      this.values.delete(key);
      return Promise.resolve();
    }
  }

  it("are kept, given to the worker, and forgotten in both places", async () => {
    const [rpc, storage] = [new FakeRpc(), new Storage()];
    rpc.answers.setSecret = () => ({});
    const secrets = new Secrets(storage, rpc, { warn: () => assert.fail() }, () => undefined);
    await secrets.set("OPENAI_API_KEY", "sk-1");
    assert.ok(await secrets.has("OPENAI_API_KEY"));
    await secrets.set("OPENAI_API_KEY", "");
    assert.ok(!(await secrets.has("OPENAI_API_KEY")));
    assert.deepEqual(rpc.of("setSecret"), [
      { name: "OPENAI_API_KEY", value: "sk-1" },
      { name: "OPENAI_API_KEY", value: "" },
    ]);
  });

  it("are given to every new server, and never logged", async () => {
    const [rpc, storage] = [new FakeRpc(), new Storage()];
    const logged: string[] = [];
    let given = 0;
    const secrets = new Secrets(storage, rpc, { warn: (text: string) => logged.push(text) }, () => given++);
    await storage.store("E2B_API_KEY", "canary");
    rpc.answers.setSecret = () => {
      throw new RpcError("workerUnavailable", "No worker.");
    };
    rpc.ready();
    await settled();
    assert.deepEqual(logged, ["E2B_API_KEY could not be given to the worker: No worker."]);
    assert.equal(given, 0);
    rpc.answers.setSecret = () => ({});
    rpc.ready();
    await settled();
    assert.deepEqual(rpc.of("setSecret").at(-1), { name: "E2B_API_KEY", value: "canary" });
    assert.equal(given, 1, "it can use more models now");
    secrets.dispose();
  });
});

describe("the status bar", () => {
  const view = attached(emptyView("s1"), snapshot(5, [], { session: session({ backend: { kind: "docker" } }) }));
  const ready = { kind: "ready", capabilities } as const;

  it("says state and backend, and what waits", () => {
    assert.equal(statusOf(view, ready, 0).text, "$(comment-discussion) Ready · Docker");
    const asking = statusOf(view, ready, 2);
    assert.equal(asking.text, "$(comment-discussion) Ready · Docker $(bell-dot) 2");
    assert.equal(asking.level, "warning");
    assert.match(asking.tooltip, /2 waiting for your answer/);
  });

  it("says that the server is gone", () => {
    const problem = { message: "It ended." };
    assert.deepEqual(statusOf(view, { kind: "waiting", problem, pause: 1 }, 0), {
      text: "$(sync~spin) Agent restarts",
      tooltip: "It ended.",
      level: "warning",
    });
    const failed = statusOf(view, { kind: "failed", problem: { ...problem, remedy: "See the log." } }, 0);
    assert.deepEqual([failed.level, failed.tooltip], ["error", "It ended. See the log."]);
    assert.equal(statusOf(undefined, ready, 0).text, "$(comment-discussion) Agent");
  });
});

describe("versions", () => {
  it("fit within a series", () => {
    assert.equal(mismatch("0.1.7", "0.1.0"), undefined);
    assert.equal(mismatch("v1.4.0", "1.2.3"), undefined);
    assert.match(mismatch("0.2.0", "0.1.0") ?? "", /version 0\.2\.0.*made for 0\.1\.0/);
    assert.ok(mismatch("2.0.0", "1.9.0"));
  });
});

describe("what a carry tells", () => {
  const carry: Carry = {
    added: 1,
    changed: 2,
    removed: 0,
    merged: 1,
    bytes: 123,
    files: [{ path: "a", kind: "added" }],
    skipped: [{ path: ".env", reason: "it looks like a secret" }],
    skippedAll: 3,
    conflicts: [],
    conflictsAll: 0,
  };

  it("is one line, or all that is needed to decide", () => {
    assert.equal(summary(carry), "1 added, 2 changed, 1 merged (123 bytes)");
    assert.equal(summary({ ...carry, added: 0, changed: 0, merged: 0 }), "no file changes");
    const text = details(carry);
    assert.match(text, /^Files: 1 added, 2 changed, 1 merged \(123 bytes\)\n\+ a\nand 2 more/);
    assert.match(text, /Stays where it is:\n\.env \(it looks like a secret\)\nand 2 more$/);
    const both = { ...carry, conflicts: [{ path: "x", reason: "both changed it" }], conflictsAll: 1 };
    assert.match(
      conflictDetails(both, "the folder"),
      /^Changed on both sides:\nx \(both changed it\)\n\nComes besides: 1/,
    );
    assert.match(conflictDetails(both, "the folder"), /Nothing has changed yet\. .* shall the folder have\?$/);
  });
});

describe("errors", () => {
  it("keep what the server says of them", () => {
    const thrown = Object.assign(new Error("No worker."), {
      data: { code: "workerUnavailable", remedy: "Start it.", retryable: true },
    });
    const error = rpcError(thrown);
    assert.deepEqual([error.code, error.advice, error.retryable], ["workerUnavailable", "No worker. Start it.", true]);
    assert.equal(rpcError("what").code, "internal");
  });
});
