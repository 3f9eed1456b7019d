// Carries a workspace somewhere: what it would bring is shown before it is done, and conflicts are the user's to decide.
import { l10n, window } from "vscode";
import type { Carry, OnConflict } from "../../../editors/protocol";
import { rpcError } from "../client/rpc";
import type { Ctx } from "../ctx";
import { sayInfo } from "../say";
import { details } from "./carrytext";
import { withProgress } from "./progress";

/** One carry: how it is asked for, and how it is told. */
export interface CarryPlan<R extends { carry: Carry }> {
  readonly sessionId: string;
  /** "Switch “Fix the build” to Docker?" */
  readonly question: string;
  /** The button that does it. */
  readonly verb: string;
  /** While it is looked at, and while it is done. */
  readonly looking: string;
  readonly doing: string;
  run(options: CarryOptions): Promise<R>;
}

/** What goes with one asking. Each has an id of its own: the same one would bring the same answer again. */
export interface CarryOptions {
  readonly requestId: string;
  readonly dryRun?: boolean;
  readonly onConflict?: OnConflict;
}

/** Shows what would be carried, lets the user decide, and does it. Undefined when the user does not want it. */
export async function carryOut<R extends { carry: Carry }>(ctx: Ctx, plan: CarryPlan<R>): Promise<R | undefined> {
  const ask = (options: Omit<CarryOptions, "requestId">) => plan.run({ requestId: crypto.randomUUID(), ...options });
  const { carry } = await withProgress(ctx, plan.looking, plan.sessionId, () => ask({ dryRun: true }));
  const decision = await decide(plan, carry);
  if (decision === undefined) return undefined;
  const onConflict = decision === "fail" ? {} : { onConflict: decision };
  try {
    return await withProgress(ctx, plan.doing, plan.sessionId, () => ask(onConflict));
  } catch (thrown) {
    if (rpcError(thrown).code !== "conflict" || decision !== "fail") throw thrown;
    sayInfo(l10n.t("Files were changed meanwhile, so nothing was carried; look at it again."));
    return carryOut(ctx, plan);
  }
}

async function decide(plan: CarryPlan<{ carry: Carry }>, carry: Carry): Promise<OnConflict | undefined> {
  if (carry.conflictsAll > 0) return decideConflicts(plan, carry);
  const picked = await window.showInformationMessage(plan.question, { modal: true, detail: details(carry) }, plan.verb);
  return picked === plan.verb ? "fail" : undefined;
}

async function decideConflicts(plan: CarryPlan<{ carry: Carry }>, carry: Carry): Promise<OnConflict | undefined> {
  const [mine, theirs] = [l10n.t("Keep What Is There"), l10n.t("Take What Comes")];
  const detail = [
    details(carry),
    l10n.t("Nothing was changed yet. In the files that were changed on both sides, which version shall stay?"),
  ].join("\n\n");
  const picked = await window.showWarningMessage(plan.question, { modal: true, detail }, mine, theirs);
  if (picked === mine) return "mine";
  return picked === theirs ? "theirs" : undefined;
}
