// Understands unified diffs, line by line, as far as showing them needs it.

export interface DiffLine {
  readonly kind: "added" | "removed" | "context" | "hunk" | "meta";
  readonly text: string;
}

/** What a diff says of one file. */
export interface DiffFile {
  readonly path: string;
  /** Of the first change in the new file; 0 when it is not known. */
  readonly line: number;
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
}

/** The files of a unified diff. What comes before the first header belongs to a file without a name. */
export function filesOf(diff: string): readonly DiffFile[] {
  const files: DiffFile[] = [];
  let lines: DiffLine[] = [];
  let path = "";
  const close = (): void => {
    if (lines.length > 0) files.push(file(path, lines));
    [lines, path] = [[], ""];
  };
  let [oldLeft, newLeft] = [0, 0]; // lines of the hunk that are still to come
  for (const text of diff.replace(/\n$/, "").split("\n")) {
    const within = oldLeft > 0 || newLeft > 0;
    const sign = text[0] ?? " ";
    if (within && "+- \\".includes(sign)) {
      if (sign === "-" || sign === " ") oldLeft--;
      if (sign === "+" || sign === " ") newLeft--;
      lines.push({ kind: sign === "+" ? "added" : sign === "-" ? "removed" : sign === " " ? "context" : "meta", text });
      continue;
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(text);
    if (hunk) {
      [oldLeft, newLeft] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
      lines.push({ kind: "hunk", text });
      continue;
    }
    const begins = text.startsWith("diff ") || (text.startsWith("--- ") && lines.some((line) => line.kind === "hunk"));
    if (begins) close();
    const name = /^(?:(?:---|\+\+\+) (?:[ab]\/)?|diff --git a\/.* b\/)(.*?)(?:\t.*)?$/.exec(text)?.[1];
    if (name && name !== "/dev/null") path = name;
    if (text !== "") lines.push({ kind: "meta", text });
  }
  close();
  return files;
}

function file(path: string, lines: readonly DiffLine[]): DiffFile {
  const hunk = lines.find((line) => line.kind === "hunk");
  const line = Number(/\+(\d+)/.exec(hunk?.text ?? "")?.[1] ?? 0);
  const count = (kind: DiffLine["kind"]): number => lines.filter((known) => known.kind === kind).length;
  const shown = lines.filter(({ kind, text }) => kind !== "meta" || !/^(---|\+\+\+|diff |index )/.test(text));
  return { path, line, lines: shown, added: count("added"), removed: count("removed") };
}

/** The texts of a diff's sides, hunk by hunk, and which line of which text each of its lines is. */
export interface Sides {
  readonly texts: readonly string[];
  /** Of each line: the text and the line in it; undefined where it is none of the file. */
  readonly places: readonly ({ readonly text: number; readonly line: number } | undefined)[];
}

/** Splits lines into what was and what is, so that each can be read as code. */
export function sidesOf(lines: readonly DiffLine[]): Sides {
  const texts: string[][] = [[], []];
  const places = lines.map(({ kind, text }) => {
    if (kind === "hunk") texts.push([], []);
    if (kind === "hunk" || kind === "meta") return undefined;
    const [before, after] = [texts.length - 2, texts.length - 1];
    if (kind !== "added") texts[before]?.push(text.slice(1));
    if (kind !== "removed") texts[after]?.push(text.slice(1));
    const at = kind === "removed" ? before : after;
    return { text: at, line: (texts[at]?.length ?? 0) - 1 };
  });
  return { texts: texts.map((one) => one.join("\n")), places };
}
