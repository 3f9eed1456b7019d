import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anchorAt, Layout, scrollFor, type Row } from "../../../webview/list/layout";

function rows(count: number, from = 0): Row[] {
  return Array.from({ length: count }, (_, i) => ({ key: `r${i + from}`, estimate: 20 }));
}

describe("a layout", () => {
  it("has measured heights where they are known", () => {
    const layout = new Layout(rows(4), new Map([["r1", 100]]));
    assert.deepEqual(
      [0, 1, 2, 3, 4, 9, -1].map((i) => layout.top(i)),
      [0, 20, 120, 140, 160, 160, 0],
    );
    assert.equal(layout.height, 160);
  });

  it("finds the rows of the screen", () => {
    const layout = new Layout(rows(1000), new Map([["r1", 100]]));
    assert.deepEqual(
      [0, 19, 20, 119, 120, 1e9, -5].map((y) => layout.at(y)),
      [0, 0, 1, 1, 2, 999, 0],
    );
    assert.deepEqual(layout.between(30, 150), [1, 4]);
    assert.deepEqual(new Layout([], new Map()).between(0, 100), [0, 0]);
  });

  it("skips rows without height", () => {
    const layout = new Layout(
      rows(3),
      new Map([
        ["r0", 0],
        ["r1", 0],
      ]),
    );
    assert.equal(layout.at(0), 2);
  });
});

describe("an anchor", () => {
  it("keeps what is on the screen in its place when rows come before it", () => {
    const old = rows(100);
    const anchor = anchorAt(old, new Layout(old, new Map()), 210, 100);
    assert.deepEqual(anchor, { key: "r11", offset: -10 });
    const more = rows(150, -50);
    assert.equal(scrollFor(more, new Layout(more, new Map()), anchor), 1210);
  });

  it("keeps it when rows above are measured", () => {
    const all = rows(100);
    const anchor = anchorAt(all, new Layout(all, new Map()), 200, 100);
    assert.ok(anchor);
    assert.equal(scrollFor(all, new Layout(all, new Map([["r3", 70]])), anchor), 250);
  });

  it("is the row that fills the screen when none begins there", () => {
    const all = rows(3);
    const layout = new Layout(all, new Map([["r1", 1000]]));
    assert.deepEqual(anchorAt(all, layout, 300, 100), { key: "r1", offset: 280 });
  });

  it("may be gone", () => {
    const all = rows(3);
    assert.equal(scrollFor(all, new Layout(all, new Map()), { key: "x", offset: 0 }), undefined);
    assert.equal(anchorAt([], new Layout([], new Map()), 0, 100), undefined);
  });
});

describe("10,000 rows", () => {
  it("are laid out anew in a few milliseconds", () => {
    const all = rows(10_000);
    const heights = new Map(all.map((row, i) => [row.key, 20 + (i % 50)]));
    const begin = performance.now();
    for (let i = 0; i < 20; i++) new Layout(all, heights).between(5000, 6000);
    const each = (performance.now() - begin) / 20;
    assert.ok(each < 16, `${each} ms`);
  });
});
