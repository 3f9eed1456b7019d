// The hunks of a unified diff, and how one is taken back in a text that may have changed since. No vscode here.
import { createHash } from "node:crypto";

/** Some lines of a file that changed together. */
export interface Hunk {
  /** The same for the same change of the same file, wherever in it the change is now. */
  readonly id: string;
  /** Line of the new file, from 1, where it begins. */
  readonly start: number;
  /** With their signs: " ", "+" or "-". */
  readonly lines: readonly string[];
  /** The old, or the new, file ends with these lines and has no newline there. */
  readonly oldOpen: boolean;
  readonly newOpen: boolean;
}

/** One replacement in a text; offsets are of UTF-16 units, as those of a TextDocument. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Reads the hunks of one file's patch. */
export function hunksOf(path: string, patch: string): Hunk[] {
  const hunks: Hunk[] = [];
  const seen = new Map<string, number>();
  for (const part of patch.split(/^(?=@@ )/m)) {
    const [header = "", ...body] = part.replace(/\n$/, "").split("\n");
    const start = /^@@ -\d+(?:,\d+)? \+(\d+)/.exec(header)?.[1];
    if (start === undefined) continue;
    const lines = body.filter((line) => /^[ +-]/.test(line)).map((line) => line.replace(/\r$/, ""));
    const digest = createHash("sha256")
      .update(`${path}\0${lines.join("\n")}`)
      .digest("base64url")
      .slice(0, 22);
    const nth = seen.get(digest) ?? 0;
    seen.set(digest, nth + 1);
    hunks.push({
      id: nth ? `${digest}.${nth.toFixed()}` : digest,
      start: Math.max(1, Number(start)),
      lines,
      oldOpen: open(body, /^[ -]/),
      newOpen: open(body, /^[ +]/),
    });
  }
  return hunks;
}

/** Whether the last line of a side says that it has no newline. */
function open(body: readonly string[], side: RegExp): boolean {
  return body.some((line, i) => line.startsWith("\\") && side.test(body[i - 1] ?? ""));
}

/** What the lines were and what they are. */
export function sides({ lines }: Hunk): { before: string[]; after: string[] } {
  const without = (sign: string): string[] =>
    lines.filter((line) => !line.startsWith(sign)).map((line) => line.slice(1));
  return { before: without("+"), after: without("-") };
}

/** Lines added and removed. */
export function counts({ lines }: Hunk): { added: number; removed: number } {
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length;
  return { added: count("+"), removed: count("-") };
}

/** What a hunk is called by: of its first change the first line that is there now, else that was; empty where all lines are blank. */
export function heading({ lines }: Hunk): string {
  const says = (line: string): boolean => /^[+-].*\S/.test(line);
  const start = lines.findIndex(says);
  const end = lines.findIndex((line, i) => i > start && line.startsWith(" "));
  const change = lines.slice(Math.max(0, start), end < 0 ? undefined : end).filter(says);
  return (change.find((line) => line.startsWith("+")) ?? change[0] ?? "").slice(1).trim();
}

/** The line of the new file, from 1, where the first of its changes is. */
export function firstChange(hunk: Hunk): number {
  const at = hunk.lines.findIndex((line) => !line.startsWith(" "));
  return hunk.start + Math.max(0, at);
}

/** Whether a line of the new file, from 1, is one of a hunk's, those around its changes included. */
export function covers(hunk: Hunk, line: number): boolean {
  return line >= hunk.start && line < hunk.start + Math.max(1, sides(hunk).after.length);
}

interface Line {
  readonly text: string;
  readonly start: number;
  /** Behind its end of line. */
  readonly end: number;
}

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (const match of text.matchAll(/([^\r\n]*)(\r\n|\n|\r|$)/g)) {
    const [whole, content = ""] = match;
    if (whole === "") break;
    lines.push({ text: content, start: match.index, end: match.index + whole.length });
  }
  return lines;
}

/** Where a change is taken back in a text; undefined when its lines do not stand there any more, or nothing would change. */
export function takeBack(text: string, hunk: Hunk): Replacement | undefined {
  const lines = linesOf(text);
  const { before, after } = sides(hunk);
  const at = find(lines, after, hunk.start - 1, hunk.newOpen);
  if (at === undefined) return undefined;
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const start = lines[at]?.start ?? text.length;
  const end = after.length ? (lines[at + after.length - 1]?.end ?? text.length) : start;
  const unterminated = end === text.length && !/[\r\n]$/.test(text);
  const closed = before.length > 0 && !hunk.oldOpen && !(unterminated && !hunk.newOpen && after.length > 0);
  const replaced = before.join(eol) + (closed ? eol : "");
  return replaced === text.slice(start, end) ? undefined : { start, end, text: replaced };
}

/** The place of lines in others that is nearest to a line. */
function find(lines: readonly Line[], wanted: readonly string[], near: number, atEnd: boolean): number | undefined {
  if (wanted.length === 0) return lines.length === 0 ? 0 : undefined;
  const fits = (at: number): boolean =>
    at >= 0 &&
    at + wanted.length <= lines.length &&
    (!atEnd || at + wanted.length === lines.length) &&
    wanted.every((line, i) => lines[at + i]?.text === line);
  for (let distance = 0; distance <= Math.max(near, lines.length); distance++) {
    if (fits(near - distance)) return near - distance;
    if (fits(near + distance)) return near + distance;
  }
  return undefined;
}
