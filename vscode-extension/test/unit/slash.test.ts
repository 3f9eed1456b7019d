import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { parseSlash, runSlash, slashCommands } from "../../src/commands/slash";
import type { Ctx } from "../../src/ctx";
import { Listing } from "../../src/sessions/listing";
import { Sessions } from "../../src/sessions/sessions";
import { session, snapshot } from "./model/make";
import { FakeRpc } from "./rpc";
import { world } from "./vscode";

let rpc: FakeRpc;
let ctx: Ctx;
let listing: Listing;

beforeEach(() => {
  world.reset();
  rpc = new FakeRpc();
  rpc.ready();
  rpc.answers.attach = () => snapshot(1, []);
  rpc.answers.sessions = () => ({ sessions: [] });
  const sessions = new Sessions(rpc, { get: () => undefined, update: () => Promise.resolve() });
  const conversation = { visible: true, reveal: () => Promise.resolve() };
  listing = new Listing(rpc, sessions, () => undefined);
  ctx = { rpc, sessions, conversation, listing } as unknown as Ctx;
});

afterEach(() => listing.dispose());

async function refused(line: string): Promise<string> {
  const result = await runSlash(ctx, "s1", line);
  assert.ok("refused" in result, line);
  assert.deepEqual(
    rpc.asked.filter(({ command }) => command !== "attach"),
    [],
    "nothing was asked",
  );
  return result.refused;
}

describe("slash commands", () => {
  it("are parsed with what follows them", () => {
    assert.deepEqual(parseSlash("/title  A new\nname "), { name: "title", argument: "A new\nname" });
    assert.deepEqual(parseSlash("/STOP"), { name: "stop", argument: "" });
    assert.deepEqual(parseSlash("/add-dir x"), { name: "add-dir", argument: "x" });
    assert.deepEqual(parseSlash(" / "), { name: "", argument: "" });
    for (const line of ["/etc/hosts is wrong", "/* what is this */", "//", "title x", ""])
      assert.equal(parseSlash(line), null, line);
  });

  it("that are unknown are refused, never sent, and near ones are named", async () => {
    assert.equal(await refused("/swtich docker"), "There is no command /swtich. Did you mean /switch?");
    assert.match(await refused("/xyz"), /no command \/xyz\. Type \/ to see them all/);
    assert.equal(await refused("/"), "There is no command /. Type / to see them all.");
    assert.match(await refused("/add-dir x"), /no command \/add-dir\. Did you mean \/adopt/);
    assert.match(await refused("/etc/hosts is wrong"), /no command/);
  });

  it("say what they need", async () => {
    assert.equal(await refused("/title"), "/title needs <title>.");
    assert.equal(await refused("/stop now"), "/stop takes nothing after it.");
    assert.match(await refused("/switch moon"), /local\|docker\|e2b\|daytona/);
    assert.match(await refused("/switch local debian"), /local\|docker/);
    assert.match(await refused("/mode always"), /readOnly\|ask\|auto\|never/);
  });

  it("work on the session of the conversation", async () => {
    rpc.answers.title = ({ title }) => ({ session: session({ title }), seq: 2 });
    assert.deepEqual(await runSlash(ctx, "s1", "/title Fix the build"), { done: true });
    const [params] = rpc.of("title");
    assert.deepEqual({ ...params, requestId: "" }, { requestId: "", sessionId: "s1", title: "Fix the build" });
  });

  it("fork with a title, without asking for it", async () => {
    rpc.answers.fork = () => ({ session: session({ id: "s2" }), seq: 2 });
    await runSlash(ctx, "s1", "/fork Another way");
    const [params] = rpc.of("fork");
    assert.deepEqual({ ...params, requestId: "" }, { requestId: "", sessionId: "s1", title: "Another way" });
  });

  it("set the approval mode, and ask whether it shall never ask", async () => {
    rpc.answers.configure = () => ({ session: session(), seq: 2 });
    await runSlash(ctx, "s1", "/mode never");
    assert.deepEqual(rpc.of("configure"), []);
    world.answer = () => "Never Ask";
    await runSlash(ctx, "s1", "/mode never");
    await runSlash(ctx, "s1", "/mode ask");
    assert.deepEqual(
      rpc.of("configure").map((params) => "approvalMode" in params && params.approvalMode),
      ["never", "ask"],
    );
  });

  it("tell of what fails by what they throw", async () => {
    await assert.rejects(runSlash(ctx, "s1", "/title x"), /nobody has said/);
  });

  it("complete their arguments", async () => {
    const complete = (name: string, lead: string) =>
      slashCommands.find((one) => one.name === name)?.complete?.(ctx, lead);
    assert.deepEqual(await complete("switch", "d"), ["docker", "daytona"]);
    assert.deepEqual(await complete("mode", "RE"), ["readOnly"]);
    rpc.answers.models = () => ({ models: [{ id: "demo", provider: "demo", available: true }], defaultModel: "demo" });
    assert.deepEqual(await complete("model", ""), ["demo"]);
  });

  it("have one name each, and say what they do", () => {
    const names = slashCommands.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const { name, description } of slashCommands) {
      assert.match(name, /^[a-z]+$/);
      assert.notEqual(description, "");
    }
  });
});
