// Keeps the keyboard in the page: what had it may go at any moment, as an answered question does, and nobody can type into nothing.

/** Gives a new part the keyboard; to be used as a ref. */
export function enter(element: HTMLElement | null): void {
  element?.focus();
}

/** Props of a part that may be too large for its place: keys can scroll it, and it says what it is. */
export function scrolls(name: string): { tabIndex: number; role: "group"; "aria-label": string } {
  return { tabIndex: 0, role: "group", "aria-label": name };
}

/** The input, where the keyboard is at home. */
export function home(): HTMLElement | null {
  return document.querySelector<HTMLElement>(".composer .input");
}

/** Watches over the keyboard as long as the page exists. */
export function keepFocus(root: HTMLElement): void {
  let around: readonly Element[] = []; // what has the keyboard, and all that it is in, from the inside out
  const lost = (): boolean => {
    const [holder] = around;
    return holder !== undefined && (!holder.isConnected || holder.matches(":disabled"));
  };
  const unheld = (): boolean => {
    const { activeElement } = document;
    return activeElement === null || activeElement === document.body || activeElement.matches(":disabled");
  };
  const pass = (): void => {
    if (document.hasFocus() && unheld()) (heir(around) ?? home())?.focus({ preventScroll: true });
  };
  document.addEventListener("focusin", ({ target }) => (around = target instanceof Element ? outwards(target) : []));
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget !== null || !document.hasFocus()) return;
    // What is still there in a moment was left on purpose, by a click beside everything; text can be selected then.
    queueMicrotask(() => {
      if (around[0] === target && !lost() && document.activeElement !== target) around = [];
    });
  });
  window.addEventListener("focus", pass);
  new MutationObserver(() => {
    if (lost()) pass();
  }).observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
}

function outwards(element: Element): Element[] {
  const out: Element[] = [];
  for (let one: Element | null = element; one; one = one.parentElement) out.push(one);
  return out;
}

/**
 * Who has the keyboard after something has gone: the next question after a question, else what is nearest around it. It is
 * never a button that would do something else at the same key.
 */
function heir(around: readonly Element[]): HTMLElement | null {
  const gone = around.filter((element) => !element.isConnected);
  if (gone.some((element) => element.matches(".approval"))) return document.querySelector<HTMLElement>(".approval");
  if (gone.some((element) => element.matches(".row"))) return document.querySelector<HTMLElement>(".row[tabindex='0']");
  for (const element of around) {
    if (!element.isConnected || element.matches(":disabled")) continue;
    const at = element.matches(".disclosure") ? element.querySelector(".head") : element;
    if (at instanceof HTMLElement && (at.tabIndex >= 0 || at.hasAttribute("tabindex"))) return at;
  }
  return null;
}
