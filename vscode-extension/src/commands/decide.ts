// A decision that needs a look at what it is about: asked in a dialog, and after the look in a list, beside what is looked at.
import { l10n, window } from "vscode";

/** One way to decide. */
export interface Way<T> {
  readonly label: string;
  /** What becomes of it. */
  readonly description: string;
  readonly value: T;
  /** Needs the look: it is offered after that only. */
  readonly afterLook?: true;
}

/** What is to be decided. */
export interface Decision<T> {
  readonly question: string;
  /** All that is known of it. */
  readonly detail: string;
  readonly ways: readonly Way<T>[];
  /** Shows what it is about. */
  look(): Promise<void>;
}

/** Lets the user decide; undefined when nothing is decided, as by Escape. */
export async function decide<T>(decision: Decision<T>): Promise<T | undefined> {
  const { question, detail, ways } = decision;
  const compare = l10n.t("Compare");
  const labels = ways.filter(({ afterLook }) => !afterLook).map(({ label }) => label);
  const picked = await window.showWarningMessage(question, { modal: true, detail }, ...labels, compare);
  if (picked !== compare) return ways.find(({ label }) => label === picked)?.value;
  await decision.look();
  const placeHolder = l10n.t("{0} Escape leaves everything as it is.", question);
  return (await window.showQuickPick(ways, { placeHolder, ignoreFocusOut: true }))?.value; // low: it covers what is looked at
}
