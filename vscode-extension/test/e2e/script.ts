// What the model of the tests says. A rule answers requests whose last message has its words in it.

type Call = { name: string; arguments: Record<string, unknown> };

const exec = (command: string): Call => ({ name: "exec_command", arguments: { command } });
const patch = (...lines: string[]): Call => ({
  name: "apply_patch",
  arguments: { patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") },
});

/** The port of the server that the agent starts when it is told to serve the notes. */
export const servedPort = 47_213;

const serve: Call = {
  name: "exec_command",
  arguments: {
    command: `python3 -m http.server ${servedPort} --directory served`,
    background: true,
    network: true,
  },
};

/** Calls a tool, then says something. */
const works = (lastUser: string, call: Call, text: string, before = "") => [
  { match: { lastUser, step: 0 }, respond: { text: before, toolCalls: [call] } },
  { match: { lastUser, step: 1 }, respond: { text } },
];

const numbers =
  "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty";

/** Where the answers that are streamed slowly begin and end. */
export const upwards = { first: "one two", last: "nineteen twenty" };
export const downwards = { first: "twenty nineteen", last: "two one" };

/** Begins and ends an answer of more than 1 MiB. */
export const longAnswer = { first: "The first line of a long answer.", last: "The last line of a long answer." };

const longLines = Array.from(
  { length: 17_000 },
  (_, i) => `${i}. This line has \`code\` and **bold** words in it, so it is long.`,
);

/** Text that is written from right to left, with characters beyond the first plane. */
export const rightToLeft = "שלום עולם, זה מבחן 🎉👩‍👩‍👧‍👦 של טקסט";

/** How many tools the model calls at once when it looks at everything. */
export const callsAtOnce = 90;

/** Ends the answer to what was asked, when that was to do some work or to look at everything. */
export const workDone = (asked: string): string => `That was it: ${asked}.`;

/** How many words there are when words are said; they are others in each of the first nine turns: "w2117." */
export const wordCount = 200;
const words = Array.from({ length: wordCount }, (_, i) => `w{{turn}}${100 + i}.`).join(" ");

const report = [
  "Here is what I found:",
  "",
  ...Array.from(
    { length: 6 },
    (_, i) => `${i + 1}. \`file${i}.go\` does **something** that is [told](file${i}.go:${i}) at some length.`,
  ),
  "",
  "```go",
  'fmt.Println("hello")',
  "```",
  "",
  workDone("{{lastUser}}"),
].join("\n");

const listing: Call = { name: "list", arguments: { path: "." } };
const reading: Call = { name: "read_file", arguments: { path: "greeting.txt" } };

const markdown = [
  "Here is what I found:",
  "",
  "1. `main.go` prints a **greeting**",
  "2. nothing tests it",
  "",
  "```go",
  'fmt.Println("hello")',
  "```",
].join("\n");

export const script = {
  models: ["scripted"],
  rules: [
    {
      match: { lastUser: "a long answer" },
      respond: { text: [longAnswer.first, "", ...longLines, "", longAnswer.last].join("\n") },
      chunking: { bytes: 4096 },
    },
    { match: { lastUser: "count slowly" }, respond: { text: numbers }, chunking: { bytes: 4, delayMs: 120 } },
    {
      match: { lastUser: "count backwards" },
      respond: { text: numbers.split(" ").reverse().join(" ") },
      chunking: { bytes: 4, delayMs: 120 },
    },
    {
      match: { lastUser: "do some work", step: 0 },
      respond: { text: "I begin.", toolCalls: [reading, exec("seq 1 400")] },
    },
    { match: { lastUser: "do some work", step: 1 }, respond: { text: report }, chunking: { bytes: 64 } },
    {
      match: { lastUser: "look at everything", step: 0 },
      respond: { toolCalls: Array.from({ length: callsAtOnce }, (_, i) => (i % 2 ? listing : reading)) },
    },
    { match: { lastUser: "look at everything", step: 1 }, respond: { text: report }, chunking: { bytes: 64 } },
    {
      match: { lastUser: "print a lot", step: 0 },
      respond: { toolCalls: [exec("seq 1 100000 | sed 's/$/ is a line of what a command prints/'")] },
    },
    { match: { lastUser: "print a lot", step: 1 }, respond: { text: "That was a lot." } },
    { match: { lastUser: "say words" }, respond: { text: words }, chunking: { bytes: 7, delayMs: 20 } },
    { match: { lastUser: "right to left" }, respond: { text: rightToLeft } },
    { match: { lastUser: "what is here" }, respond: { text: markdown }, chunking: { bytes: 8, delayMs: 5 } },
    ...works("touch the log", exec("echo once >> log"), "Logged."),
    ...works("keep a note", exec("echo once >> note"), "Kept."),
    ...works(
      "improve the poem once more",
      patch(
        "*** Update File: poem.txt",
        "@@",
        " roses are red",
        "-violets are blue",
        "+violets are violet",
        "@@",
        " sugar is sweet",
        "-and so are you",
        "+and so are you, mostly",
      ),
      "It is even better now.",
    ),
    ...works(
      "improve the poem",
      patch(
        "*** Update File: poem.txt",
        "@@",
        " roses are red",
        "-violets are blue",
        "+violets are violet",
        "@@",
        " sugar is sweet",
        "-and so are you",
        "+and so are you, mostly",
      ),
      "It is better now.",
    ),
    ...works("serve the notes", serve, "They are served."),
    ...works(
      "greet briefly",
      patch("*** Update File: greeting.txt", "@@", " first", "-hello", "+hi", " last"),
      "It is brief now.",
    ),
    ...works("wait for me", exec("sleep 600"), "Waited."),
    ...works("touch the diary", exec("echo once >> diary"), "Noted."),
    ...works("where am I", exec("test -e /.dockerenv && echo inside || echo outside"), "That is where."),
    ...works("make the mark", exec("touch mark && ls"), "Marked."),
    ...works(
      "greet politely",
      patch("*** Update File: greeting.txt", "@@", " first", "-hello", "+good morning", " last"),
      "It is polite now.",
    ),
    ...works(
      "greet in the evening",
      patch("*** Update File: greeting.txt", "@@", " first", "-good morning", "+good evening", " last"),
      "It is evening now.",
    ),
    ...works(
      "greet at night",
      patch("*** Update File: greeting.txt", "@@", " first", "-good evening", "+good night", " last"),
      "It is night now.",
    ),
    { respond: { text: "You said: {{lastUser}}" } },
  ],
};
