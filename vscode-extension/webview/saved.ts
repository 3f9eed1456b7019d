// What of the page outlives it: drafts, and what was opened. VS Code keeps it while the view is hidden and over a reload.
import { bool, list, object, optional, text, type Of } from "../src/conversation/shape";

const saved = object({
  /** By session, "" for none; the latest used last. */
  drafts: list(object({ session: text(300), text: text(512 * 1024) }), 50),
  opened: list(object({ key: text(300), open: bool }), 2000),
  plan: optional(bool),
});
export type Saved = Of<typeof saved>;

const nothing: Saved = { drafts: [], opened: [] };

/** Makes sense of what was kept, also by an older version. */
export function restored(value: unknown): Saved {
  return saved(value) ? value : nothing;
}

const keptDrafts = 20;
const keptOpened = 500;

/** The drafts with another text for a session. */
export function withDraft(drafts: Saved["drafts"], session: string, text: string): Saved["drafts"] {
  const others = drafts.filter((draft) => draft.session !== session);
  return text === "" ? others : [...others, { session, text }].slice(-keptDrafts);
}

/** What was opened or closed, the latest of it. */
export function openedList(opened: ReadonlyMap<string, boolean>): Saved["opened"] {
  return [...opened].slice(-keptOpened).map(([key, open]) => ({ key, open }));
}
