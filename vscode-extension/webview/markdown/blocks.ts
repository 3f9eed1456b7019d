// Cuts Markdown into blocks while it grows. A block that is closed never changes again, so only the last one is drawn anew
// with each piece; and a long text is many short rows, of which only those on the screen exist.

/** A piece of a text that is drawn by itself. */
export interface Block {
  readonly kind: "markdown" | "code";
  readonly text: string;
  /** Of code. */
  readonly fence: Fence | undefined;
  /** Of code: long code comes in several blocks. */
  readonly first: boolean;
  readonly last: boolean;
  /** Of code: where all of it begins in the whole text. */
  readonly from: number;
  /** Of code: where this part of it begins in all of it. */
  readonly at: number;
  /** More of this part may come. */
  readonly open: boolean;
}

/** Blocks that make one row. */
export interface Group {
  readonly blocks: readonly Block[];
  /** The link definitions of the whole text. */
  readonly definitions: string;
}

const longBlock = 8 * 1024; // UTF-16 units; a longer block is cut where that shows least
const longLine = 4 * longBlock; // a line that is longer is cut between two words
const longCode = 150; // lines in one block of code
const groupSize = 4 * 1024;
const groupBlocks = 12;

/** The line that begins code. */
export interface Fence {
  readonly mark: string;
  readonly indent: number;
  /** What follows the mark: the language. */
  readonly info: string;
}

const fencePattern = /^( *)(`{3,}|~{3,})(.*)$/;
const definitionPattern = /^ {0,3}\[[^\]]+\]:\s*\S/;

function opens(line: string): Fence | undefined {
  const found = fencePattern.exec(line);
  const [, indent = "", mark = "", info = ""] = found ?? [];
  if (!found || (mark.startsWith("`") && info.includes("`"))) return undefined;
  return { mark, indent: indent.length, info: info.trim() };
}

function closes(line: string, fence: Fence): boolean {
  const found = opens(line);
  if (found?.info !== "" || found.indent > fence.indent + 3) return false;
  return found.mark.startsWith(fence.mark); // the same sign, and as many of them
}

/** The blocks of one text that only grows. */
export class Blocks {
  private text = "";
  private complete = false;
  private next = 0; // where the first line begins that was not looked at
  private start = 0; // where the open block begins
  private lines = 0; // in the open block of code
  private blank = false; // the line before is empty
  private fence: Fence | undefined; // of the open block of code
  private inner: Fence | undefined; // of code within a list or so, which is no block of its own
  private segment = false; // the open block of code is not its first
  private codeFrom = 0;
  private definitions = "";
  private readonly groups: Group[] = [];
  private group: Block[] = [];
  private groupLength = 0;

  /**
   * Takes the whole text as it is now and returns its rows. Those that have not changed since are the same objects. A text
   * that does not continue the one before is an error of the caller: it makes new Blocks.
   */
  update(text: string, complete: boolean): readonly Group[] {
    this.text = text;
    this.complete = complete;
    for (let end = text.indexOf("\n", this.next); end >= 0; end = text.indexOf("\n", this.next)) {
      this.line(text.slice(this.next, end).replace(/\r$/, ""), end + 1);
    }
    if (complete && this.next < text.length) this.line(text.slice(this.next), text.length);
    else this.cutLine();
    return this.rows();
  }

  private rows(): readonly Group[] {
    const open = this.open();
    const blocks = open ? [...this.group, open] : [...this.group];
    return blocks.length === 0 ? this.groups.slice() : [...this.groups, { blocks, definitions: this.definitions }];
  }

  private open(): Block | undefined {
    const text = this.text.slice(this.start);
    if (this.fence) return this.code(text.replace(/(^|\n) {0,3}[`~]+$/, ""), true, !this.complete); // perhaps the end of it
    return text.trim() === "" ? undefined : this.markdown(text, !this.complete);
  }

  private markdown(text: string, open = false): Block {
    return { kind: "markdown", text, fence: undefined, first: true, last: true, from: 0, at: 0, open };
  }

  private code(text: string, last: boolean, open = false): Block {
    const { fence, codeFrom: from, segment, start } = this;
    const bare = text.replace(/\r?\n$/, "");
    return { kind: "code", text: bare, fence, first: !segment, last, from, at: start - from, open };
  }

  private line(line: string, end: number): void {
    if (this.fence) this.codeLine(line, end, this.fence);
    else this.markdownLine(line, end);
    this.next = end;
  }

  private codeLine(line: string, end: number, fence: Fence): void {
    if (closes(line, fence)) {
      this.push(this.code(this.text.slice(this.start, this.next), true));
      this.fence = undefined;
      this.segment = false;
      this.start = end;
      return;
    }
    this.lines++;
    if (this.lines >= longCode || end - this.start >= longBlock) this.cutCode(end);
  }

  private cutCode(end: number): void {
    this.push(this.code(this.text.slice(this.start, end), false));
    this.segment = true;
    this.start = end;
    this.lines = 0;
  }

  private markdownLine(line: string, end: number): void {
    const blank = line.trim() === "";
    if (this.inner) {
      if (closes(line, this.inner)) this.inner = undefined;
    } else if (blank) {
      this.blank = true;
    } else {
      this.contentLine(line, end);
      this.blank = false;
    }
  }

  private contentLine(line: string, end: number): void {
    const fence = opens(line);
    const flush = !/^[ \t]/.test(line);
    const long = this.next - this.start > longBlock;
    if (flush && (this.blank || long || fence || /^#{1,6}[ \t]/.test(line))) this.close();
    else if (this.next - this.start > 2 * longBlock) this.close();
    if (definitionPattern.test(line)) this.define(line);
    if (!fence) return;
    if (!flush) {
      this.inner = fence;
      return;
    }
    this.fence = fence;
    this.start = this.codeFrom = end;
    this.lines = 0;
  }

  /** Closes the open block of Markdown before the line that is looked at. */
  private close(): void {
    const text = this.text.slice(this.start, this.next);
    if (text.trim() !== "") this.push(this.markdown(text));
    this.start = this.next;
  }

  /** Cuts a line that never ends. */
  private cutLine(): void {
    while (this.text.length - this.next > longLine) {
      const limit = this.next + longLine;
      const space = this.text.lastIndexOf(" ", limit);
      this.next = space > this.next ? space + 1 : limit;
      if (this.fence) this.cutCode(this.next);
      else this.close();
    }
  }

  private push(block: Block): void {
    this.group.push(block);
    this.groupLength += block.text.length;
    if (this.groupLength < groupSize && this.group.length < groupBlocks) return;
    this.groups.push({ blocks: this.group, definitions: this.definitions });
    this.group = [];
    this.groupLength = 0;
  }

  /** A definition changes what was drawn before, where it is used. */
  private define(line: string): void {
    this.definitions += `${line}\n`;
    this.groups.forEach((group, i) => (this.groups[i] = { ...group, definitions: this.definitions }));
  }
}

/** All of the code that a block is a part of. */
export function codeAt(text: string, block: Block): string {
  const rest = text.slice(block.from);
  if (!block.fence) return block.text;
  for (let at = 0; at < rest.length;) {
    const newline = rest.indexOf("\n", at);
    const end = newline < 0 ? rest.length : newline;
    if (closes(rest.slice(at, end).replace(/\r$/, ""), block.fence)) return rest.slice(0, at);
    at = end + 1;
  }
  return rest;
}
