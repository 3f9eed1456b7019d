// Drives the stand-in with Daytona's own SDK, as its users would drive the cloud.
import assert from "node:assert/strict";
import { Daytona } from "@daytonaio/sdk";

const daytona = new Daytona();
const sandbox = await daytona.create({ name: "mine", labels: { "a key": "a value & more" }, envVars: { GREETING: "hello" }, autoStopInterval: 30 });
assert.equal(sandbox.state, "started");
const home = await sandbox.getUserHomeDir();

const said = await sandbox.process.executeCommand('echo "$GREETING é"; echo err >&2; pwd');
assert.equal(said.exitCode, 0);
assert.equal(said.result, `hello é\nerr\n${home}\n`);
assert.equal((await sandbox.process.executeCommand("exit 3")).exitCode, 3);
assert.equal((await sandbox.process.executeCommand("pwd; echo $X", "/", { X: "y" })).result, "/\ny\n");
assert.equal((await sandbox.process.executeCommand("seq 1 20000")).result.length, 108_894);
await assert.rejects(sandbox.process.executeCommand("sleep 600", undefined, undefined, 1), /timeout/i);

await sandbox.process.createSession("s");
await assert.rejects(sandbox.process.createSession("s"), /exists/);
await sandbox.process.executeSessionCommand("s", { command: "cd /; export KEPT=1" });
const kept = await sandbox.process.executeSessionCommand("s", { command: "pwd; echo $KEPT; echo err >&2" });
assert.equal(kept.exitCode, 0);
assert.equal(kept.stdout, "/\n1\n");
assert.equal(kept.stderr, "err\n");
const asks = await sandbox.process.executeSessionCommand("s", { command: "echo ready; read x; echo got $x; echo err >&2; (exit 4)", runAsync: true });
let [stdout, stderr] = ["", ""];
const heard = sandbox.process.getSessionCommandLogs("s", asks.cmdId, (text) => { stdout += text; }, (text) => { stderr += text; });
await sandbox.process.sendSessionCommandInput("s", asks.cmdId, "it");
await heard;
assert.equal(stdout, "ready\ngot it\n");
assert.equal(stderr, "err\n");
assert.equal((await sandbox.process.getSessionCommand("s", asks.cmdId)).exitCode, 4);
await sandbox.process.deleteSession("s");

let typed = "";
const terminal = await sandbox.process.createPty({ id: "t", cols: 100, rows: 30, onData: (data) => { typed += new TextDecoder().decode(data); } });
await terminal.waitForConnection();
await terminal.sendInput("stty size; exit 5\n");
assert.equal((await terminal.wait()).exitCode, 5);
assert.match(typed, /30 100/);

await sandbox.fs.uploadFile(Buffer.from("content é"), "dir/file.txt");
assert.equal((await sandbox.fs.downloadFile("dir/file.txt")).toString(), "content é");
assert.equal((await sandbox.fs.downloadFile(home + "/dir/file.txt")).toString(), "content é");
const bytes = Buffer.from(new Uint8Array(3_000_000).map((_, i) => i % 251));
await sandbox.fs.uploadFile(bytes, "bytes");
assert.ok(bytes.equals(await sandbox.fs.downloadFile("bytes")));
await sandbox.fs.createFolder("made", "755");
assert.deepEqual((await sandbox.fs.listFiles("")).map((entry) => entry.name).filter((name) => !name.startsWith(".")).sort(), ["bytes", "dir", "made"]);
await sandbox.fs.moveFiles("dir/file.txt", "made/file.txt");
await sandbox.fs.deleteFile("dir", true);
assert.equal((await sandbox.fs.getFileDetails("made/file.txt")).size, 10);
await assert.rejects(sandbox.fs.downloadFile("none"), /not found/i);

const listed = async (query) => {
  const all = [];
  for await (const one of daytona.list(query)) all.push(one);
  return all;
};
assert.deepEqual((await listed({ labels: { "a key": "a value & more" } })).map((one) => one.id), [sandbox.id]);
assert.deepEqual(await listed({ labels: { "a key": "another" } }), []);
assert.equal((await daytona.get("mine")).id, sandbox.id);
await assert.rejects(daytona.create({ name: "mine" }), /already exists/);
await assert.rejects(daytona.create({ snapshot: "no-such-snapshot" }), /not found/);

await sandbox.process.executeCommand("sleep 600.25 >/dev/null 2>&1 &");
await sandbox.refreshActivity();
await sandbox.setAutostopInterval(60);
await sandbox.stop();
assert.equal(sandbox.state, "stopped");
await assert.rejects(sandbox.process.executeCommand("true"), /started/i);
await sandbox.start();
assert.equal((await sandbox.process.executeCommand("cat made/file.txt")).result, "content é");
assert.equal(sandbox.state, "started");

await sandbox.delete();
await assert.rejects(daytona.get("mine"), /not found/i);
await assert.rejects(new Daytona({ apiKey: "dtn_0000" }).get("mine"), /credentials/i);
console.log("all is as with the cloud");
process.exit(0);
