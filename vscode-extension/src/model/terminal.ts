// What a terminal would show of a command's output in the end.

// Escape sequences: control sequences, titles and links, and the two-character ones.
// eslint-disable-next-line no-control-regex
const escapes = /\x1b(?:\[[0-9;?:<=>]*(?:[ -/]*[@-~]|$)|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~])/g;
// eslint-disable-next-line no-control-regex
const controls = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Output without colours, and with lines as programs have left them after drawing over them. */
export function settled(output: string): string {
  return output
    .replace(escapes, "")
    .split("\n")
    .map((line) => lastDrawn(line.replace(/\r$/, "")))
    .join("\n");
}

function lastDrawn(line: string): string {
  const drawn = line.slice(line.lastIndexOf("\r") + 1);
  return drawn.replace(controls, (c) =>
    c === "\b" ? "" : String.fromCharCode(0x2400 + ((c.charCodeAt(0) & 0x7f) % 0x7f)),
  );
}

/** The last lines of a text. */
export function lastLines(text: string, count: number): string {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.slice(-count).join("\n");
}

/** The first lines of a text, and how many there are in all. */
export function firstLines(text: string, count: number): { text: string; lines: number } {
  const lines = text.replace(/\n$/, "").split("\n");
  return { text: lines.length > count ? lines.slice(0, count).join("\n") : text, lines: lines.length };
}
