// Drives the stand-in with E2B's own SDK, as its users would drive the cloud. Prints what it saw as one JSON object.
import assert from "node:assert/strict";
import { Sandbox } from "e2b";

const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { "a key": "a value & more" }, envs: { GREETING: "hello" } });
const said = await sandbox.commands.run('echo "$GREETING é"; echo err >&2; pwd');
assert.equal(said.exitCode, 0);
assert.equal(said.stderr, "err\n");
const lines = said.stdout.split("\n");
assert.equal(lines[0], "hello é");

const failed = await sandbox.commands.run("exit 3").catch((error) => error);
assert.equal(failed.exitCode, 3);

let streamed = "";
await sandbox.commands.run("seq 1 20000", { onStdout: (text) => { streamed += text; } });
assert.equal(streamed.length, 108_894);

await sandbox.files.write("dir/file.txt", "content é");
assert.equal(await sandbox.files.read("dir/file.txt"), "content é");
assert.equal(await sandbox.files.read(lines[1] + "/dir/file.txt"), "content é");
const bytes = new Uint8Array(3_000_000).map((_, i) => i % 251);
await sandbox.files.write("bytes", bytes.buffer);
assert.deepEqual(await sandbox.files.read("bytes", { format: "bytes" }), bytes);
assert.equal(await sandbox.files.exists("dir/file.txt"), true);
assert.equal(await sandbox.files.exists("none"), false);
await sandbox.files.makeDir("made");
assert.deepEqual((await sandbox.files.list("")).map((entry) => entry.name).filter((name) => !name.startsWith(".")).sort(), ["bytes", "dir", "made"]);
await sandbox.files.rename("dir/file.txt", "made/file.txt");
await sandbox.files.remove("dir");
assert.equal(await sandbox.files.exists("made/file.txt"), true);
await assert.rejects(sandbox.files.read("none"), /does not exist|not found/i);

const background = await sandbox.commands.run("read x; echo got $x", { background: true, stdin: true });
await sandbox.commands.sendStdin(background.pid, "it\n");
assert.equal((await background.wait()).stdout, "got it\n");

const sleeper = await sandbox.commands.run("sleep 600", { background: true });
assert.ok((await sandbox.commands.list()).some((one) => one.pid === sleeper.pid));
assert.equal(await sleeper.kill(), true);

const found = await Sandbox.list({ query: { metadata: { "a key": "a value & more" } } }).nextItems();
assert.deepEqual(found.map((one) => [one.sandboxId, one.state]), [[sandbox.sandboxId, "running"]]);
assert.deepEqual(await Sandbox.list({ query: { metadata: { "a key": "another" } } }).nextItems(), []);

await sandbox.setTimeout(300_000);
const info = await sandbox.getInfo();
assert.ok(info.endAt - Date.now() > 200_000);

const survivor = await sandbox.commands.run("while [ ! -e go ]; do sleep 0.05; done; echo survived", { background: true });
assert.equal(await sandbox.pause(), true);
assert.equal(await sandbox.isRunning(), false);
assert.equal((await Sandbox.list({ query: { state: ["paused"] } }).nextItems()).length, 1);
const again = await Sandbox.connect(sandbox.sandboxId);
assert.equal(again.sandboxId, sandbox.sandboxId);
assert.equal(await again.isRunning(), true);
const rejoined = await again.commands.connect(survivor.pid);
await again.files.write("go", "");
assert.equal((await rejoined.wait()).stdout, "survived\n");

assert.equal(await again.kill(), true);
assert.equal(await again.isRunning(), false);
assert.equal(await Sandbox.kill(sandbox.sandboxId), false);
await assert.rejects(Sandbox.connect(sandbox.sandboxId), /not found/i);
await assert.rejects(Sandbox.create("no-such-template"), /template/);
await assert.rejects(Sandbox.create({ apiKey: "e2b_00000000000000000000000000000000000000ff" }), /API key|unauthor/i);
console.log("all is as with the cloud");
