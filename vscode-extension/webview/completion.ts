// What is being written at the caret, so that it can be completed: a slash command, its argument, or a mention.

export type Writing =
  | { readonly kind: "slash"; readonly lead: string; readonly from: number }
  | { readonly kind: "argument"; readonly name: string; readonly lead: string; readonly from: number }
  | { readonly kind: "mention"; readonly lead: string; readonly from: number };

/** What ends at the caret; from is where the part begins that a choice replaces. */
export function writingAt(text: string, caret: number): Writing | undefined {
  const before = text.slice(0, caret);
  const slash = /^\/([\w-]*)$/.exec(before);
  if (slash) return { kind: "slash", lead: slash[1] ?? "", from: 0 };
  const argument = /^\/([\w-]+)\s+([^\n]*)$/.exec(before);
  if (argument) {
    const [, name = "", lead = ""] = argument;
    return { kind: "argument", name, lead, from: caret - lead.length };
  }
  const mention = /(?:^|\s)@([^\s@]*)$/.exec(before);
  return mention ? { kind: "mention", lead: mention[1] ?? "", from: caret - (mention[1] ?? "").length } : undefined;
}

/** The text with a choice in the place of what was being written, and where the caret is then. */
export function completed(text: string, caret: number, from: number, choice: string): { text: string; caret: number } {
  const space = text[caret] === " " ? "" : " ";
  return { text: text.slice(0, from) + choice + space + text.slice(caret), caret: from + choice.length + 1 };
}

/** A line that is a slash command, also one that there is not; a path such as /etc/hosts is none, and neither is anything after a space. */
export function isSlash(text: string): boolean {
  return /^\/[\w-]*(\s|$)/.test(text);
}
