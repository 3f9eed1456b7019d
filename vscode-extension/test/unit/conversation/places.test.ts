import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Uri, workspace } from "vscode";
import { fileMention, globFor, ranked } from "../../../src/conversation/attach";
import { readAll } from "../../../src/conversation/outputs";
import { below, openLink, placeOf } from "../../../src/conversation/places";
import { session } from "../model/make";
import { FakeRpc } from "../rpc";

describe("a link", () => {
  it("is an address or a file with a line", () => {
    assert.deepEqual(placeOf("https://example.org/a:1"), { address: "https://example.org/a:1" });
    assert.deepEqual(placeOf("src/a.go"), { path: "src/a.go", line: 0 });
    assert.deepEqual(placeOf("src/a.go:12"), { path: "src/a.go", line: 12 });
    assert.deepEqual(placeOf("src/a.go:12:4"), { path: "src/a.go", line: 12 });
    assert.deepEqual(placeOf("src/a%20b.go#L3-L9"), { path: "src/a b.go", line: 3 });
    assert.deepEqual(placeOf("file:///w/100%.txt"), { path: "/w/100%.txt", line: 0 });
  });

  it("leads nowhere else", () => {
    for (const bad of ["command:workbench.action.quit", "vscode:extension/x", "javascript:alert(1)", ""])
      assert.equal(placeOf(bad), undefined, bad);
  });

  it("to a file that was removed says so", async (t) => {
    t.mock.method(Uri, "joinPath", () => Uri.file("/w/src/a.go"));
    t.mock.method(workspace.fs, "stat", () =>
      Promise.reject(Object.assign(new Error("gone"), { code: "FileNotFound" })),
    );
    await assert.rejects(openLink(session({}), "src/a.go:3"), {
      code: "notFound",
      message: "There is no file src/a.go in the workspace, or no longer.",
    });
  });

  it("does not lead out of the workspace", () => {
    assert.equal(below("/w", "src/a.go"), "src/a.go");
    assert.equal(below("/w", "/w/src/../a.go"), "a.go");
    for (const bad of ["../x", "/etc/passwd", "/w/../x", "/wide/x", ".", ""])
      assert.equal(below("/w", bad), undefined, bad);
  });
});

describe("mentions", () => {
  it("find files in either case, whatever the query has in it", () => {
    assert.equal(globFor("ma1"), "**/*[mM][aA]1*");
    assert.equal(globFor("a{b}*"), "**/*[aA]?[bB]??*");
  });

  it("have the likely ones first, and quote names with spaces", () => {
    const paths = ["docs/x/domain.md", "main.go", "cmd/agent/main.go"];
    assert.deepEqual(ranked(paths, "main"), ["main.go", "cmd/agent/main.go", "docs/x/domain.md"]);
    assert.deepEqual(fileMention("a b.md"), { text: '"a b.md"', label: "a b.md" });
  });
});

describe("an output", () => {
  it("is read to its end, also when it is no text, and cut when it is too large", async () => {
    const rpc = new FakeRpc();
    const whole = "0123456789";
    rpc.answers.readOutput = ({ offset }) => {
      const data = Buffer.from(whole.slice(offset, offset + 4)).toString("base64");
      return { data, encoding: "base64", offset, end: Math.min(offset + 4, 10), total: 10 };
    };
    assert.equal(await readAll(rpc, "s1", "i1", "stdout"), whole);
    assert.match(await readAll(rpc, "s1", "i1", "stdout", 5), /^01234567\n… /);
  });

  it("ends where the server has no more, whatever it said", async () => {
    const rpc = new FakeRpc();
    rpc.answers.readOutput = ({ offset }) => ({
      data: offset === 0 ? "abc" : "",
      encoding: "utf8",
      offset,
      end: 3,
      total: 9,
    });
    assert.match(await readAll(rpc, "s1", "i1", "text"), /^abc\n/);
  });
});
