// Has code coloured by a worker, one job after the other. What takes too long is given up with its worker, so that no text,
// however hostile, can hold up more than its own colours.
import type { Token } from "./tokens";
import type { Done, Job } from "./worker";

export type Line = readonly Token[];

/** The lines of a text; undefined when they have no colours. */
export type Lines = readonly Line[] | undefined;

/** A worker, as far as it is used here. */
export interface Port {
  onmessage: ((event: MessageEvent<Done>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(job: Job): void;
  terminate(): void;
}

interface Waiting {
  readonly job: Job;
  readonly resolve: (lines: readonly Lines[]) => void;
}

const patience = 2000; // ms for one job
const mostFailures = 5; // texts that a worker was given up for, then there are no colours any more
const longestText = 64 * 1024; // UTF-16 units
const longestLine = 1000;
const keptUnits = 1024 * 1024; // of texts whose colours are kept

const tooLongLine = new RegExp(`[^\\n]{${longestLine + 1}}`);

export class Highlighter {
  private port: Port | undefined;
  private readonly waiting: Waiting[] = [];
  private running = false;
  private readonly failed = new Set<string>(); // how the texts begin that a worker was given up for
  private last = 0;
  private readonly kept = new Map<string, readonly Lines[]>(); // by what was asked, the latest last
  private keptLength = 0;

  constructor(private readonly begin: () => Promise<Port>) {}

  /** What lines has answered to the same before, while it is kept: rows come and go while one scrolls. */
  known(language: string, texts: readonly string[]): readonly Lines[] | undefined {
    return this.kept.get(keyOf(language, texts));
  }

  /** The lines of texts of one language, each text coloured by itself. What only grows is not worth keeping. */
  async lines(language: string, texts: readonly string[], keep: boolean): Promise<readonly Lines[]> {
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    const plain =
      language === "" || length === 0 || length > longestText || texts.some((text) => tooLongLine.test(text));
    if (plain || this.hopeless(language, texts)) return texts.map(() => undefined);
    const lines = await new Promise<readonly Lines[]>((resolve) => {
      this.waiting.push({ job: { id: ++this.last, language, texts }, resolve });
      void this.work();
    });
    if (keep) this.keep(keyOf(language, texts), lines);
    return lines;
  }

  /** The parts of one long code begin alike. */
  private hopeless(language: string, texts: readonly string[]): boolean {
    return this.failed.size >= mostFailures || this.failed.has(beginning(language, texts));
  }

  private keep(key: string, lines: readonly Lines[]): void {
    if (!this.kept.has(key)) this.keptLength += key.length;
    this.kept.set(key, lines);
    for (const oldest of this.kept.keys()) {
      if (this.keptLength <= keptUnits) return;
      this.kept.delete(oldest);
      this.keptLength -= oldest.length;
    }
  }

  private async work(): Promise<void> {
    if (this.running) return;
    this.running = true;
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
      const { job, resolve } = next;
      resolve((await this.done(job)) ?? job.texts.map(() => undefined));
    }
    this.running = false;
  }

  private async done(job: Job): Promise<readonly Lines[] | undefined> {
    if (this.hopeless(job.language, job.texts)) return undefined;
    try {
      this.port ??= await this.begin();
      const { lines } = await answerOf(this.port, job);
      return lines.map((one) => one ?? undefined);
    } catch {
      this.failed.add(beginning(job.language, job.texts));
      this.port?.terminate();
      this.port = undefined;
      return undefined; // colours are a help, not a promise
    }
  }
}

function keyOf(language: string, texts: readonly string[]): string {
  return [language, ...texts].join("\0");
}

function beginning(language: string, texts: readonly string[]): string {
  return keyOf(language, texts).slice(0, 1000);
}

function answerOf(port: Port, job: Job): Promise<Done> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("it takes too long")), patience);
    port.onmessage = ({ data }) => {
      clearTimeout(timer);
      resolve(data);
    };
    port.onerror = ({ message }) => {
      clearTimeout(timer);
      reject(new Error(message));
    };
    port.postMessage(job);
  });
}

/**
 * The one of the page. Its program is a text, since a page may begin a worker only from what it holds itself, and is loaded when
 * the first code is shown.
 */
export const highlighter = new Highlighter(async () => {
  const { default: program } = await import("./worker.ts?text");
  const url = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  try {
    return new Worker(url);
  } finally {
    URL.revokeObjectURL(url);
  }
});
