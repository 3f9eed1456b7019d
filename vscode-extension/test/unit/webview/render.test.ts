import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { h, type VNode } from "preact";
import { markdown, safeLink, type DrawCode } from "../../../webview/markdown/render";

/** The elements as text, in the manner of HTML. */
function shown(node: unknown): string {
  if (Array.isArray(node)) return node.map(shown).join("");
  if (typeof node === "string") return node;
  if (typeof node !== "object" || node === null) return "";
  const { type, props } = node as VNode<Record<string, unknown>>;
  const inner = shown(props.children);
  if (typeof type !== "string") return inner;
  const attributes = Object.entries(props).filter(
    ([name]) => !["children", "dir", "tabIndex", "title", "role", "aria-label"].includes(name),
  );
  return `<${type}${attributes.map(([name, value]) => ` ${name}=${String(value)}`).join("")}>${inner}</${type}>`;
}

/** Code as it is drawn here. */
const plain: DrawCode = (text, info) => h("pre", { lang: info }, text);

const html = (text: string, definitions = ""): string => shown(markdown(text, definitions, plain));

describe("Markdown", () => {
  it("becomes elements", () => {
    assert.equal(html("# A *b*"), "<h1>A <em>b</em></h1>");
    assert.equal(html("1. a\n2. b"), "<ol start=1><li>a</li><li>b</li></ol>");
    assert.equal(html("3. c"), "<ol start=3><li>c</li></ol>");
    assert.equal(html("a **b** `c` ~~d~~  \ne"), "<p>a <strong>b</strong> <code>c</code> <s>d</s><br></br>e</p>");
    assert.equal(html("> q\n\n---"), "<blockquote><p>q</p></blockquote><hr></hr>");
    assert.equal(
      html("| a | b |\n|---|--:|\n| 1 | 2 |"),
      "<div class=table><table><thead><tr><th>a</th><th class=align-right>b</th></tr></thead>" +
        "<tbody><tr><td>1</td><td class=align-right>2</td></tr></tbody></table></div>",
    );
  });

  it("shows boxes of task lists", () => {
    const box = (checked: boolean): string => `<input type=checkbox checked=${String(checked)} disabled=true></input>`;
    assert.equal(
      html("- [ ] a\n- [x] **b**\n- [X] `c`\n- [y] d\n- [ ]\n\n[ ] e"),
      `<ul><li class=task>${box(false)}a</li><li class=task>${box(true)}<strong>b</strong></li>` +
        `<li class=task>${box(true)}<code>c</code></li><li>[y] d</li><li>[ ]</li></ul><p>[ ] e</p>`,
    );
  });

  it("takes no HTML", () => {
    assert.equal(html("<img src=x onerror=alert(1)>"), "<p><img src=x onerror=alert(1)></p>");
    assert.equal((markdown("<b>x</b>", "", plain).props as { children: VNode }).children.type, "p");
    assert.equal(html("a <script>b</script>"), "<p>a <script>b</script></p>");
  });

  it("offers only links that are safe", () => {
    assert.equal(html("[a](https://example.org/x)"), "<p><a href=https://example.org/x>a</a></p>");
    assert.equal(html("[a](src/a.go)"), "<p><a href=src/a.go>a</a></p>");
    assert.equal(html("[a](javascript:alert(1))"), "<p>[a](javascript:alert(1))</p>");
    assert.equal(html("[a](command:workbench.action.quit)"), "<p>[a](command:workbench.action.quit)</p>");
    assert.equal(html("![alt](https://example.org/i.png)"), "<p><a href=https://example.org/i.png>alt</a></p>");
    for (const bad of [
      "data:text/html,x",
      "vscode:extension/x",
      " JavaScript:x",
      "vbscript:x",
      "javascript:1;alert(1)",
    ])
      assert.equal(safeLink(bad), false, bad);
    for (const good of ["main.go:12", "src/a.ts#L3", "mailto:a@example.org", "file:///w/a"])
      assert.equal(safeLink(good), true, good);
  });

  it("finds addresses, but no domain in the name of a file", () => {
    assert.equal(html("see https://example.org."), "<p>see <a href=https://example.org>https://example.org</a>.</p>");
    assert.equal(html("see README.md and a@b.org"), "<p>see README.md and a@b.org</p>");
  });

  it("knows definitions from elsewhere", () => {
    assert.equal(html("[it][1]", "[1]: https://example.org\n"), "<p><a href=https://example.org>it</a></p>");
  });
});
