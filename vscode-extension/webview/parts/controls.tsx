// Small things that others are made of.
import * as l10n from "@vscode/l10n";
import { Component, type ComponentChild, type ComponentChildren, type VNode } from "preact";
import type { Store } from "../store";

interface DisclosureProps {
  readonly class: string;
  readonly open: boolean;
  readonly onToggle: () => void;
  readonly head: ComponentChild;
  readonly children?: ComponentChildren;
}

/** A line that opens what is below it. */
export function Disclosure({ class: name, open, onToggle, head, children }: DisclosureProps): VNode {
  return (
    <div class={`disclosure ${name}`}>
      <button class="head" aria-expanded={open} onClick={onToggle}>
        <span class="chevron" aria-hidden="true">
          {open ? "▾" : "▸"}
        </span>
        {head}
      </button>
      {open && <div class="body">{children}</div>}
    </div>
  );
}

interface CopyProps {
  readonly text: () => string;
  readonly store: Store;
  readonly label: string;
}

/** Copies a text, and says so for a moment. */
export class CopyButton extends Component<CopyProps, { copied: boolean }> {
  override state = { copied: false };
  private timer = 0;

  override componentWillUnmount(): void {
    clearTimeout(this.timer);
  }

  override render({ text, store, label }: CopyProps): ComponentChild {
    const copy = async (): Promise<void> => {
      if (!(await store.attempt(() => store.host.call("copy", { text: text() })))) return;
      this.setState({ copied: true });
      this.timer = window.setTimeout(() => this.setState({ copied: false }), 1500);
    };
    return (
      <button class="plain" title={label} aria-label={label} onClick={() => void copy()}>
        {this.state.copied ? l10n.t("Copied") : l10n.t("Copy")}
      </button>
    );
  }
}

/** A sentence with `code` in it. */
export function withCode(text: string): ComponentChild[] {
  return text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? <code dir="ltr">{part}</code> : part));
}
