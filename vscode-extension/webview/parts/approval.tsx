// A question of the agent and its answers, where the call stands that it is about.
import * as l10n from "@vscode/l10n";
import { Component, createRef, type ComponentChild, type VNode } from "preact";
import type { Approval, Scope } from "../../../editors/protocol";
import type { Given } from "../../src/conversation/messages";
import { questionText, sentence } from "../../src/model/text";
import { enter, scrolls } from "../focus";
import type { Store } from "../store";
import { withCode } from "./controls";

interface ApproveProps {
  readonly approval: Approval;
  readonly store: Store;
  /** What more there is to see before the answer. */
  readonly children?: ComponentChild;
}

interface ApproveState {
  /** What more is asked before the answer is given. */
  readonly form: "none" | "always" | "deny";
  readonly pattern: string;
  readonly scope: Scope;
  readonly feedback: string;
  readonly sending: boolean;
}

export class Approve extends Component<ApproveProps, ApproveState> {
  override state: ApproveState = {
    form: "none",
    pattern: this.props.approval.pattern ?? "",
    scope: "session",
    feedback: "",
    sending: false,
  };
  private readonly section = createRef<HTMLElement>();

  /** The keyboard goes back to the button that has opened a form. */
  override componentDidUpdate(_: ApproveProps, { form }: ApproveState): void {
    if (form !== "none" && this.state.form === "none")
      this.section.current?.querySelector<HTMLElement>(`[data-form="${form}"]`)?.focus();
  }

  override render({ approval, children }: ApproveProps, { form }: ApproveState): ComponentChild {
    return (
      <section ref={this.section} class="approval" tabIndex={-1} aria-label={l10n.t("Approval: {0}", approval.subject)}>
        <div class="question" dir="auto">
          <strong>{questionText(approval.tool)}</strong> {withCode(sentence(approval.reason))}
        </div>
        <pre class="subject" dir="ltr" {...scrolls(l10n.t("What it is about"))}>
          {approval.subject}
        </pre>
        {children}
        {form === "none" && this.choices(approval)}
        {form === "always" && this.always()}
        {form === "deny" && this.deny()}
      </section>
    );
  }

  private choices({ options }: Approval): VNode {
    const { sending } = this.state;
    const offered = (decision: string): boolean => options.length === 0 || options.includes(decision);
    return (
      <div class="buttons">
        {offered("allow") && (
          <button class="primary" aria-disabled={sending} onClick={() => this.answer({ decision: "allow" })}>
            {l10n.t("Allow")}
          </button>
        )}
        {options.includes("allowAlways") && (
          <button data-form="always" aria-disabled={sending} onClick={() => this.open("always")}>
            {l10n.t("Always Allow…")}
          </button>
        )}
        {offered("deny") && (
          <button aria-disabled={sending} onClick={() => this.answer({ decision: "deny" })}>
            {l10n.t("Deny")}
          </button>
        )}
        {offered("deny") && (
          <button data-form="deny" aria-disabled={sending} onClick={() => this.open("deny")}>
            {l10n.t("Deny and Say Why…")}
          </button>
        )}
      </div>
    );
  }

  private always(): VNode {
    const { pattern, scope } = this.state;
    const scopes: [Scope, string][] = [
      ["session", l10n.t("In this session")],
      ["workspace", l10n.t("In this workspace")],
    ];
    return (
      <form
        class="form"
        onKeyDown={(event) => this.escape(event)}
        onSubmit={(event) => this.submit(event, { decision: "allowAlways", pattern: pattern.trim(), scope })}
      >
        <label>
          {l10n.t("Always allow what fits:")}
          <input
            class="pattern"
            dir="ltr"
            value={pattern}
            ref={enter}
            onInput={(event) => this.setState({ pattern: event.currentTarget.value })}
          />
        </label>
        <fieldset>
          <legend>{l10n.t("Where")}</legend>
          {scopes.map(([value, name]) => (
            <label key={value}>
              <input
                type="radio"
                name="scope"
                checked={scope === value}
                onChange={() => this.setState({ scope: value })}
              />{" "}
              {name}
            </label>
          ))}
        </fieldset>
        {this.formButtons(l10n.t("Always Allow"), pattern.trim() === "")}
      </form>
    );
  }

  private deny(): VNode {
    const { feedback } = this.state;
    return (
      <form
        class="form"
        onKeyDown={(event) => this.escape(event)}
        onSubmit={(event) => this.submit(event, { decision: "deny", feedback: feedback.trim() })}
      >
        <label>
          {l10n.t("Why not? The agent reads this:")}
          <textarea
            rows={2}
            dir="auto"
            value={feedback}
            ref={enter}
            onInput={(event) => this.setState({ feedback: event.currentTarget.value })}
          />
        </label>
        {this.formButtons(l10n.t("Deny"), feedback.trim() === "")}
      </form>
    );
  }

  private formButtons(title: string, disabled: boolean): VNode {
    return (
      <div class="buttons">
        <button class="primary" type="submit" disabled={disabled} aria-disabled={this.state.sending}>
          {title}
        </button>
        <button type="button" onClick={() => this.setState({ form: "none" })}>
          {l10n.t("Cancel")}
        </button>
      </div>
    );
  }

  private open(form: ApproveState["form"]): void {
    if (!this.state.sending) this.setState({ form });
  }

  private escape(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation(); // the row would take it
    this.setState({ form: "none" });
  }

  private submit(event: Event, answer: Pick<Given<"answer">, "decision" | "pattern" | "scope" | "feedback">): void {
    event.preventDefault();
    this.answer(answer);
  }

  private answer(answer: Pick<Given<"answer">, "decision" | "pattern" | "scope" | "feedback">): void {
    const { approval, store } = this.props;
    if (this.state.sending) return;
    this.setState({ sending: true });
    void store
      .attempt(async () => {
        const given = { sessionId: store.sessionId ?? "", approvalId: approval.id, ...answer };
        const { already, decidedBy } = await store.host.call("answer", given);
        store.tell(already ? { message: answeredAlready(decidedBy) } : undefined);
      })
      .then((well) => {
        if (!well) this.setState({ sending: false }); // else it goes as soon as that is known
      });
  }
}

/** Says who was faster; the name of this client may as well be that of another window. */
function answeredAlready(by: string): string {
  return by === "vscode" ? l10n.t("Another window has answered already.") : l10n.t("{0} has answered already.", by);
}
