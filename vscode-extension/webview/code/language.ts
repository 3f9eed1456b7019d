// Which language a code is in, by what is known of it: the words behind the mark of a fence, or the name of a file.

/** Words and endings that no grammar knows, and the grammar that comes nearest. */
const others: Readonly<Record<string, string>> = {
  cfg: "ini",
  conf: "ini",
  fish: "bash",
  htm: "xml",
  jsonl: "json",
  less: "scss",
  mdx: "markdown",
  node: "javascript",
  pyi: "python",
  python3: "python",
  "shell-session": "shell",
  svelte: "xml",
  vue: "xml",
};

/** Files that have no ending. */
const names: Readonly<Record<string, string>> = {
  ".bashrc": "bash",
  ".profile": "bash",
  ".zshrc": "bash",
  dockerfile: "dockerfile",
  gemfile: "ruby",
  gnumakefile: "makefile",
  makefile: "makefile",
  rakefile: "ruby",
};

/** Of a fence such as "```ts title=x": "ts". */
export function languageOfFence(info: string): string {
  return known(/^\{?\.?([\w+#-]+)/.exec(info)?.[1] ?? "");
}

/** Of a file: most endings are a name of their language. */
export function languageOfFile(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return Object.hasOwn(names, name) ? (names[name] ?? "") : known(/\.([\w+-]+)$/.exec(name)?.[1] ?? "");
}

function known(word: string): string {
  const low = word.toLowerCase();
  return Object.hasOwn(others, low) ? (others[low] ?? "") : low;
}
