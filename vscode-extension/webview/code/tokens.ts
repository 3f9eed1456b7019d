// Code as lines of coloured pieces: what the grammars make of it, in the few words that the style knows.
import { grammars } from "./grammars";

/** What a piece of code is; "" is nothing special. */
export type Scope =
  "" | "keyword" | "string" | "number" | "comment" | "type" | "function" | "name" | "meta" | "added" | "removed";

/** A piece of a line of code that has one colour. */
export type Token = readonly [Scope, string];

const scopes: Readonly<Record<string, Scope>> = {
  keyword: "keyword",
  literal: "keyword",
  name: "keyword",
  "selector-tag": "keyword",
  "variable.language": "keyword",
  string: "string",
  regexp: "string",
  char: "string",
  code: "string",
  link: "string",
  number: "number",
  comment: "comment",
  quote: "comment",
  type: "type",
  built_in: "type",
  "title.class": "type",
  "title.class.inherited": "type",
  title: "function",
  "title.function": "function",
  "title.function.invoke": "function",
  section: "function",
  attr: "name",
  attribute: "name",
  property: "name",
  variable: "name",
  "template-variable": "name",
  "selector-class": "name",
  "selector-id": "name",
  "selector-attr": "name",
  "selector-pseudo": "name",
  symbol: "name",
  bullet: "name",
  meta: "meta",
  doctag: "meta",
  addition: "added",
  deletion: "removed",
  subst: "", // code within a string
};

type Node = ReturnType<typeof grammars.highlight>["children"][number];

/** The lines of a code; undefined when its language is not known. */
export function tokenLines(language: string, text: string): readonly (readonly Token[])[] | undefined {
  if (!grammars.registered(language)) return undefined;
  const lines: Token[][] = [[]];
  for (const node of grammars.highlight(language, text).children) collect(node, "", lines);
  return lines;
}

function collect(node: Node, scope: Scope, lines: Token[][]): void {
  if (node.type === "element") {
    const own = scopeOf(node.properties.className) ?? scope;
    for (const child of node.children) collect(child, own, lines);
  } else if (node.type === "text") {
    node.value.split("\n").forEach((part, i) => {
      if (i > 0) lines.push([]);
      if (part !== "") append(lines[lines.length - 1] ?? [], scope, part);
    });
  }
}

/** What classes such as ["hljs-title", "function_"] say; undefined when that is nothing that has a colour of its own. */
function scopeOf(classes: unknown): Scope | undefined {
  if (!Array.isArray(classes)) return undefined;
  const names = classes.map((name) => String(name).replace(/^hljs-|_+$/g, ""));
  for (let n = names.length; n > 0; n--) {
    const scope = scopes[names.slice(0, n).join(".")];
    if (scope !== undefined) return scope;
  }
  return undefined;
}

/** Pieces of one colour that touch are one. */
function append(line: Token[], scope: Scope, text: string): void {
  const last = line[line.length - 1];
  if (last?.[0] === scope) line[line.length - 1] = [scope, last[1] + text];
  else line.push([scope, text]);
}
