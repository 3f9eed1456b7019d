// What can stand where something is being written.
import type { Writing } from "../completion";
import type { Store } from "../store";

/** A completion: what is put in, and what is shown. */
export interface Choice {
  readonly text: string;
  readonly label: string;
  readonly detail: string;
}

/** The completions for what is being written; none when the extension does not answer. */
export async function choicesFor(store: Store, writing: Writing): Promise<readonly Choice[]> {
  try {
    switch (writing.kind) {
      case "slash":
        return slashChoices(store, writing.lead);
      case "argument":
        return await argumentChoices(store, writing.name, writing.lead);
      case "mention":
        return await mentionChoices(store, writing.lead);
    }
  } catch {
    return []; // completing is a help, not a promise
  }
}

function slashChoices(store: Store, lead: string): readonly Choice[] {
  return store.slash
    .filter(({ name }) => name.startsWith(lead))
    .map(({ name, argument, description }) => ({
      text: `/${name}`,
      label: argument ? `/${name} <${argument}>` : `/${name}`,
      detail: description,
    }));
}

async function argumentChoices(store: Store, name: string, lead: string): Promise<readonly Choice[]> {
  if (!store.slash.some((command) => command.name === name && command.argument)) return [];
  const { words } = await store.host.call("slashArguments", { sessionId: store.sessionId, name, lead });
  return words.map((text) => ({ text, label: text, detail: "" }));
}

async function mentionChoices(store: Store, query: string): Promise<readonly Choice[]> {
  const { mentions } = await store.host.call("mentions", { query });
  return mentions.map(({ text, label, detail }) => ({ text, label, detail: detail ?? "" }));
}
