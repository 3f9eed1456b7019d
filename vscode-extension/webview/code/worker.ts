// The worker that colours code, beside the page: however long a text takes it, the page goes on.
import { tokenLines, type Token } from "./tokens";

/** Texts of one language; each is coloured by itself. */
export interface Job {
  readonly id: number;
  readonly language: string;
  readonly texts: readonly string[];
}

/** The lines of each text; null where the language is not known. */
export interface Done {
  readonly id: number;
  readonly lines: readonly (readonly (readonly Token[])[] | null)[];
}

interface Scope {
  onmessage: ((event: MessageEvent<Job>) => void) | null;
  postMessage(done: Done): void;
}

const scope = globalThis as unknown as Scope;
scope.onmessage = ({ data: { id, language, texts } }) => {
  scope.postMessage({ id, lines: texts.map((text) => tokenLines(language, text) ?? null) });
};
