import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { methods, type CommandName } from "../../../editors/protocol";
import { RpcError } from "../../src/client/rpc";
import { trusting } from "../../src/trust";
import { FakeRpc } from "./rpc";

/** The commands that get through, called with what they would be called with. */
async function permitted(trusted: boolean, params: Partial<Record<CommandName, object>> = {}): Promise<string[]> {
  const passed: string[] = [];
  for (const command of Object.keys(methods) as CommandName[]) {
    const rpc = new FakeRpc();
    rpc.answers[command] = () => ({}) as never;
    const guard = trusting(rpc, { noted: () => undefined }, () => trusted);
    try {
      await guard.request(command, params[command] ?? {});
      passed.push(command);
    } catch (thrown) {
      assert.ok(thrown instanceof RpcError);
      assert.equal(thrown.code, "untrusted");
      assert.deepEqual(rpc.asked, []);
    }
  }
  return passed;
}

describe("a folder that is not trusted", () => {
  it("lets sessions be listed, read, stopped and ended, and no more", async () => {
    const passed = await permitted(false);
    for (const name of [
      "new",
      "ask",
      "steer",
      "answerApproval",
      "switch",
      "fork",
      "adopt",
      "configure",
      "checkpoint",
      "restore",
      "pause",
    ]) {
      assert.ok(!passed.includes(name), name);
    }
    for (const name of [
      "sessions",
      "attach",
      "history",
      "readOutput",
      "diff",
      "interrupt",
      "stop",
      "destroy",
      "doctor",
    ]) {
      assert.ok(passed.includes(name), name);
    }
  });

  it("lets an approval be denied, but not given", async () => {
    assert.ok((await permitted(false, { answerApproval: { decision: "deny" } })).includes("answerApproval"));
    for (const decision of ["allow", "allowAlways"]) {
      assert.ok(!(await permitted(false, { answerApproval: { decision } })).includes("answerApproval"));
    }
  });

  it("lets what waits be seen and removed, but not changed", async () => {
    assert.ok((await permitted(false, { queue: { op: "list" } })).includes("queue"));
    assert.ok((await permitted(false, { queue: { op: "remove" } })).includes("queue"));
    assert.ok(!(await permitted(false, { queue: { op: "edit" } })).includes("queue"));
  });
});

describe("a trusted folder", () => {
  it("lets everything through", async () => {
    assert.deepEqual(await permitted(true), Object.keys(methods));
  });

  it("has it noted whether the worker answers", async () => {
    const noted: (string | undefined)[] = [];
    const rpc = new FakeRpc();
    const guard = trusting(rpc, { noted: (error) => noted.push(error?.code) }, () => true);
    rpc.answers.sessions = () => ({ sessions: [] });
    rpc.answers.backends = () => ({ backends: [] });
    await guard.request("sessions", {});
    await guard.request("backends", {});
    rpc.answers.sessions = () => {
      throw new RpcError("workerUnavailable", "No worker.");
    };
    await assert.rejects(guard.request("sessions", {}));
    assert.deepEqual(noted, [undefined, "workerUnavailable"]);
  });
});
