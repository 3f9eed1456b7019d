// The agent's list of what is to do: the arguments of its latest call of the plan's tool.
import type { Item } from "../../../editors/protocol";

/** The tool by which the model keeps its plan. */
export const planTool = "update_plan";

/** One step of a plan. */
export interface Step {
  readonly text: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/** A plan, and the turn that made it. */
export interface Plan {
  readonly turnId: number;
  readonly steps: readonly Step[];
}

const statuses: readonly string[] = ["pending", "in_progress", "completed"];

/** The plan that an item is; undefined when it is none, or its arguments were cut or make no sense. */
export function planOf(item: Item): Plan | undefined {
  if (item.tool !== planTool || !item.arguments || item.status === "failed") return undefined;
  const steps = stepsOf(item.arguments);
  return steps && { turnId: item.turnId, steps };
}

function stepsOf(text: string): readonly Step[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined; // only the beginning of it came
  }
  const list = field(parsed, "plan");
  if (!Array.isArray(list)) return undefined;
  const steps: Step[] = [];
  for (const entry of list) {
    const step = field(entry, "step");
    const status = field(entry, "status");
    if (typeof step !== "string" || typeof status !== "string" || !statuses.includes(status)) return undefined;
    steps.push({ text: step.trim(), status: status as Step["status"] });
  }
  return steps.length > 0 ? steps : undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
