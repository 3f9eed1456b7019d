import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Highlighter, type Port } from "../../../webview/code/highlighter";
import { languageOfFence, languageOfFile } from "../../../webview/code/language";
import { tokenLines } from "../../../webview/code/tokens";
import type { Done, Job } from "../../../webview/code/worker";
import { filesOf, sidesOf } from "../../../webview/diff";

describe("code", () => {
  it("is lines of coloured pieces that say the same as before", () => {
    const text = 'func a(s string) int { // é\n\treturn len("x\\n") + 0x1f\n}\n';
    const lines = tokenLines("go", text) ?? [];
    assert.equal(lines.map((line) => line.map(([, part]) => part).join("")).join("\n"), text);
    assert.deepEqual(lines[0]?.at(-1), ["comment", "// é"]);
    assert.ok(lines[0].some(([scope, part]) => scope === "keyword" && part === "func"));
    assert.ok(lines[0].some(([scope, part]) => scope === "function" && part === "a"));
    assert.ok(lines[1]?.some(([scope, part]) => scope === "string" && part.includes('"x')));
  });

  it("goes on with a comment on the next line, and with code within a string", () => {
    assert.deepEqual(tokenLines("ts", "/* a\nb */")?.[1], [["comment", "b */"]]);
    assert.deepEqual(tokenLines("ts", "`a${b}`"), [
      [
        ["string", "`a"],
        ["", "${b}"],
        ["string", "`"],
      ],
    ]);
  });

  it("has the language that its fence or its file names", () => {
    assert.equal(languageOfFence("TS title=x"), "ts");
    assert.equal(languageOfFence("c++"), "c++");
    assert.equal(languageOfFence("{.python}"), "python");
    assert.equal(languageOfFence(""), "");
    assert.equal(languageOfFile("a/b.test.tsx"), "tsx");
    assert.equal(languageOfFile("a/Makefile"), "makefile");
    assert.equal(languageOfFile("x.vue"), "xml");
    assert.equal(languageOfFile("constructor"), "");
    for (const word of ["ts", "tsx", "c++", "golang", "yml", "sh", "py", "toml", "html", "cs"])
      assert.ok(tokenLines(word, "x"), word);
    for (const word of ["constructor", "nosuch"]) assert.equal(tokenLines(word, "x"), undefined, word);
  });
});

describe("a diff", () => {
  it("is read as what was and what is, hunk by hunk", () => {
    const [file] = filesOf(
      "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n@@ -9 +9 @@\n-/* e\n+f\n\\ No newline at end of file\n",
    );
    const { texts, places } = sidesOf(file?.lines ?? []);
    assert.deepEqual(texts, ["", "", "a\nb\nd", "a\nc\nd", "/* e", "f"]);
    assert.deepEqual(places, [
      undefined,
      { text: 3, line: 0 },
      { text: 2, line: 1 },
      { text: 3, line: 1 },
      { text: 3, line: 2 },
      undefined,
      { text: 4, line: 0 },
      { text: 5, line: 0 },
      undefined,
    ]);
  });
});

describe("the worker of the colours", () => {
  /** A worker that answers when it is told to. */
  class FakePort implements Port {
    onmessage: Port["onmessage"] = null;
    onerror: Port["onerror"] = null;
    readonly jobs: Job[] = [];
    ended = false;
    postMessage(job: Job): void {
      this.jobs.push(job);
    }
    terminate(): void {
      this.ended = true;
    }
    answer(): void {
      const { id, texts } = this.jobs.at(-1) ?? { id: 0, texts: [] };
      this.onmessage?.({
        data: { id, lines: texts.map((text) => [[["keyword", text]]]) },
      } as unknown as MessageEvent<Done>);
    }
    fail(): void {
      this.onerror?.({ message: "no" } as ErrorEvent);
    }
  }

  function begin(): { ports: FakePort[]; highlighter: Highlighter } {
    const ports: FakePort[] = [];
    const highlighter = new Highlighter(() => {
      const port = new FakePort();
      ports.push(port);
      return Promise.resolve(port);
    });
    return { ports, highlighter };
  }

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it("does one job after the other, and keeps what may be asked again", async () => {
    const { ports, highlighter } = begin();
    const both = [highlighter.lines("go", ["a"], true), highlighter.lines("go", ["b"], false)];
    await turn();
    assert.deepEqual(
      ports[0]?.jobs.map(({ texts }) => texts),
      [["a"]],
    );
    ports[0].answer();
    await turn();
    ports[0].answer();
    assert.deepEqual(await Promise.all(both), [[[[["keyword", "a"]]]], [[[["keyword", "b"]]]]]);
    assert.deepEqual(highlighter.known("go", ["a"]), [[[["keyword", "a"]]]]);
    assert.equal(highlighter.known("go", ["b"]), undefined);
    assert.equal(ports.length, 1);
  });

  it("is not given what is too long", async () => {
    const { ports, highlighter } = begin();
    const long = ["x".repeat(1001), "x\n".repeat(40_000)];
    for (const text of long) assert.deepEqual(await highlighter.lines("go", [text], true), [undefined]);
    assert.deepEqual(await highlighter.lines("", ["text"], true), [undefined]);
    assert.equal(ports.length, 0);
  });

  it("is given up when it fails, is begun anew, and in the end not any more", async () => {
    const { ports, highlighter } = begin();
    for (let n = 1; n <= 5; n++) {
      const lines = highlighter.lines("go", [`text ${n}`], true);
      await turn();
      ports.at(-1)?.fail();
      assert.deepEqual(await lines, [undefined]);
      assert.ok(ports.at(-1)?.ended);
      assert.equal(ports.length, n);
    }
    assert.deepEqual(await highlighter.lines("go", ["more"], true), [undefined]);
    assert.equal(ports.length, 5);
  });
});
