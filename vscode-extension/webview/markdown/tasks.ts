// Task lists, which Markdown itself does not have: https://github.github.com/gfm/#task-list-items-extension-
import type MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";

/** The tokens of boxes; a checked one has the attribute "checked". */
export const taskType = "task";

const box = /^\[([ xX])\]\s+/;

/** Makes boxes of the marks at the beginning of list items. */
export function tasks(parser: InstanceType<typeof MarkdownIt>): void {
  parser.core.ruler.after("inline", "tasks", ({ tokens, Token: Made }) => {
    tokens.forEach((token, i) => {
      if (token.type !== "list_item_open" || tokens[i + 1]?.type !== "paragraph_open") return;
      const children = tokens[i + 2]?.children;
      const text = children?.[0];
      const mark = text?.type === "text" && box.exec(text.content);
      if (!children || !text || !mark || (text.content === mark[0] && children.length === 1)) return;
      text.content = text.content.slice(mark[0].length);
      const made: Token = new Made(taskType, "input", 0);
      if (mark[1] !== " ") made.attrSet("checked", "");
      children.unshift(made);
      token.attrSet("class", "task");
    });
  });
}
