// Turns Markdown into elements, token by token: no HTML of a model is ever parsed, and no link leads anywhere by itself.
import * as l10n from "@vscode/l10n";
import MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";
import { Fragment, h, type ComponentChild, type VNode } from "preact";
import { scrolls } from "../focus";
import { tasks, taskType } from "./tasks";

const parser = new MarkdownIt("default", { html: false, linkify: true, breaks: false });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false }); // README.md is a file, not a domain
parser.use(tasks);
parser.validateLink = (href) => safeLink(href);

/** Schemes that a link of a message may have; without one it is a file of the workspace. */
const schemes = ["http", "https", "mailto", "file"];

/** "src/main.go:12" has no scheme. */
const lineOfFile = /^[\w-]*[./][\w./-]*:\d+/;

/** Reports whether a link may be offered at all. */
export function safeLink(href: string): boolean {
  const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase();
  return scheme === undefined || schemes.includes(scheme) || lineOfFile.test(href);
}

/** Draws a code; info is what follows the mark of its fence. */
export type DrawCode = (text: string, info: string) => ComponentChild;

/** The elements of a text. Definitions are those of links, from elsewhere in the same message. */
export function markdown(text: string, definitions: string, code: DrawCode): VNode {
  const env: Record<string, unknown> = {};
  if (definitions !== "") parser.parse(definitions, env);
  return h(Fragment, null, ...children(parser.parse(text, env), code));
}

interface Frame {
  readonly tag: string;
  readonly props: Record<string, unknown>;
  readonly children: ComponentChild[];
}

/** Tags whose text may run in either direction. */
const directed = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "td", "th", "blockquote"]);

function children(tokens: readonly Token[], code: DrawCode): ComponentChild[] {
  const root: Frame = { tag: "", props: {}, children: [] };
  const stack = [root];
  for (const token of tokens) {
    if (token.hidden) continue; // a paragraph of a tight list
    const top = stack[stack.length - 1] ?? root;
    if (token.nesting === 1) {
      stack.push({ tag: token.tag, props: props(token), children: [] });
    } else if (token.nesting === -1) {
      if (stack.length > 1) stack.pop();
      (stack[stack.length - 1] ?? root).children.push(element(top));
    } else {
      top.children.push(leaf(token, code));
    }
  }
  return root.children;
}

function element({ tag, props, children: inner }: Frame): ComponentChild {
  const node = h(tag, props, ...inner);
  return tag === "table" ? h("div", { class: "table", ...scrolls(l10n.t("Table")) }, node) : node;
}

function props(token: Token): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  if (directed.has(token.tag)) out.dir = "auto";
  if (token.type === "list_item_open" && token.attrGet("class")) out.class = token.attrGet("class");
  if (token.type === "ordered_list_open") out.start = Number(token.attrGet("start") ?? 1);
  if (token.type === "link_open") {
    out.href = token.attrGet("href") ?? "";
    out.title = token.attrGet("title") ?? token.attrGet("href") ?? "";
  }
  const align = /text-align:(\w+)/.exec(String(token.attrGet("style") ?? ""))?.[1];
  if (align) out.class = `align-${align}`;
  return out;
}

function leaf(token: Token, code: DrawCode): ComponentChild {
  switch (token.type) {
    case "inline":
      return h(Fragment, null, ...children(token.children ?? [], code));
    case "text":
      return token.content;
    case "softbreak":
      return "\n";
    case "hardbreak":
      return h("br", null);
    case "code_inline":
      return h("code", { dir: "ltr" }, token.content);
    case "code_block":
    case "fence":
      return code(token.content.replace(/\n$/, ""), token.info.trim());
    case taskType:
      return box(token.attrGet("checked") !== null);
    case "image": // nothing is loaded for a message
      return h(
        "a",
        { href: token.attrGet("src") ?? "", title: token.attrGet("src") ?? "" },
        token.content || l10n.t("picture"),
      );
    case "hr":
      return h("hr", null);
    default:
      return token.content;
  }
}

function box(checked: boolean): ComponentChild {
  const label = checked ? l10n.t("done") : l10n.t("to be done");
  return h("input", { type: "checkbox", checked, disabled: true, "aria-label": label });
}
