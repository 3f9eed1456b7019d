// The agent's list of what is to do.
import * as l10n from "@vscode/l10n";
import type { VNode } from "preact";
import type { Plan, Step } from "../../src/model/plan";
import type { Store } from "../store";
import { Disclosure } from "./controls";

const marks: Record<Step["status"], string> = { pending: "☐", in_progress: "▸", completed: "✔" };

export function PlanPanel({ plan, store }: { plan: Plan; store: Store }): VNode {
  const done = plan.steps.filter((step) => step.status === "completed").length;
  const now = plan.steps.find((step) => step.status === "in_progress");
  return (
    <Disclosure
      class="panel plan"
      open={store.planOpen}
      onToggle={() => store.togglePlan()}
      head={
        <>
          <span>{l10n.t("To do: {0} of {1}", done, plan.steps.length)}</span>
          {!store.planOpen && now && (
            <span class="quiet" dir="auto">
              {now.text}
            </span>
          )}
        </>
      }
    >
      <ol>
        {plan.steps.map((step, i) => (
          <li key={i} class={step.status} dir="auto" aria-current={step.status === "in_progress" ? "step" : undefined}>
            <span aria-hidden="true">{marks[step.status]}</span> <span class="unseen">{stepText(step.status)}</span>
            {step.text}
          </li>
        ))}
      </ol>
    </Disclosure>
  );
}

function stepText(status: Step["status"]): string {
  if (status === "completed") return l10n.t("done: ");
  return status === "in_progress" ? l10n.t("now: ") : l10n.t("to do: ");
}
