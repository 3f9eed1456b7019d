// Carries a workspace somewhere: what it would bring is shown before it is done, and conflicts are the user's to decide.
import { l10n, window, type CancellationToken } from "vscode";
import type { Carry, OnConflict, Session } from "../../../editors/protocol";
import { rpcError } from "../client/rpc";
import type { Ctx } from "../ctx";
import { asOf } from "../review/files";
import { asItIs, showPairs } from "../review/sides";
import { sayInfo } from "../say";
import { conflictDetails, details } from "./carrytext";
import { decide } from "./decide";
import { withProgress } from "./progress";

/** The two workspaces that meet, and how their versions of a file are called. */
export interface Sides {
  readonly from: Session;
  /** Where it comes to, as it is from then on. */
  readonly to: Session;
  /** "the folder", and the button that keeps its version. */
  readonly there: string;
  readonly keep: string;
  /** "the sandbox", and the button that takes its version. */
  readonly comes: string;
  readonly take: string;
}

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
  sides(preview: R): Promise<Sides>;
  run(options: CarryOptions, token?: CancellationToken): Promise<R>;
}

/** What goes with one asking. Each has an id of its own: the same one would bring the same answer again. */
export interface CarryOptions {
  readonly requestId: string;
  readonly dryRun?: boolean;
  readonly onConflict?: OnConflict;
}

/** What was carried. */
export interface Carried<R> {
  readonly result: R;
  /** The session whose workspace it came to. */
  readonly to: Session;
  /** Paths of which what was there has given way to what came. */
  readonly replaced: readonly string[];
  /** Shows both versions of what both sides had changed, where there is such. */
  readonly compare?: () => Promise<void>;
}

/** Nothing both sides changed; which version stays; or the differences are taken over one by one afterwards. */
type Choice = OnConflict | "byHand";

/** Shows what would be carried, lets the user decide, and does it. Undefined when the user does not want it. */
export async function carryOut<R extends { carry: Carry; undo?: string }>(
  ctx: Ctx,
  plan: CarryPlan<R>,
): Promise<Carried<R> | undefined> {
  const preview = await withProgress(
    ctx,
    plan.looking,
    plan.sessionId,
    (token) => plan.run({ requestId: crypto.randomUUID(), dryRun: true }, token),
    { cancellable: true },
  );
  const sides = await plan.sides(preview);
  const choice = await decideCarry(plan.question, plan.verb, sides, preview.carry);
  if (choice === undefined) return undefined;
  const onConflict = choice === "byHand" ? "mine" : choice;
  try {
    const result = await withProgress(ctx, plan.doing, plan.sessionId, () =>
      plan.run({ requestId: crypto.randomUUID(), ...(onConflict !== "fail" && { onConflict }) }),
    );
    const carried = whatCame(sides, preview.carry, result);
    if (choice === "byHand") await carried.compare?.();
    return carried;
  } catch (thrown) {
    if (rpcError(thrown).code !== "conflict" || onConflict !== "fail") throw thrown;
    sayInfo(l10n.t("Files were changed meanwhile, so nothing was carried; look at it again."));
    return carryOut(ctx, plan);
  }
}

async function decideCarry(question: string, verb: string, sides: Sides, carry: Carry): Promise<Choice | undefined> {
  if (carry.conflictsAll > 0) return decideConflicts(question, sides, carry);
  const picked = await window.showInformationMessage(question, { modal: true, detail: details(carry) }, verb);
  return picked === verb ? "fail" : undefined;
}

function decideConflicts(question: string, sides: Sides, carry: Carry): Promise<Choice | undefined> {
  return decide<Choice>({
    question,
    detail: conflictDetails(carry, sides.there),
    ways: [
      { label: sides.keep, description: l10n.t("the other version stays in a checkpoint"), value: "mine" },
      {
        label: sides.take,
        description: l10n.t("the version that is there stays in a checkpoint; it can be undone"),
        value: "theirs",
      },
      {
        label: l10n.t("Decide Change by Change"),
        description: l10n.t("keep what is there, and take over beside it what you want of the other version"),
        value: "byHand",
        afterLook: true,
      },
    ],
    look: () => compareNow(sides, carry),
  });
}

/** Before anything is carried: the files as they are on both sides. */
async function compareNow({ from, to, there, comes }: Sides, carry: Carry): Promise<void> {
  const pairs = carry.conflicts.map(async ({ path }) => {
    const now = await asItIs(to, path);
    return { path, comes: asOf(from, path, undefined).with({ path: now.path }), there: now };
  });
  await showPairs(`${comes} ↔ ${there}`, await Promise.all(pairs));
}

/** Tells conflicts that were decided for what came from those that stayed, whatever was decided. */
function whatCame<R extends { carry: Carry; undo?: string }>(sides: Sides, preview: Carry, result: R): Carried<R> {
  const { to, there, comes } = sides;
  const stayed = result.carry.conflicts.map(({ path }) => path);
  const replaced = preview.conflicts.map(({ path }) => path).filter((path) => !stayed.includes(path));
  const { theirs } = result.carry;
  const { undo } = result;
  if (stayed.length > 0 && theirs) {
    return { result, to, replaced, compare: () => compareWith(to, stayed, theirs, `${comes} ↔ ${there}`) };
  }
  if (replaced.length > 0 && undo) {
    return { result, to, replaced, compare: () => compareWith(to, replaced, undo, l10n.t("before ↔ now")) };
  }
  return { result, to, replaced };
}

async function compareWith(
  session: Session,
  paths: readonly string[],
  checkpoint: string,
  sides: string,
): Promise<void> {
  const pairs = paths.map(async (path) => ({
    path,
    comes: asOf(session, path, checkpoint, "optional"),
    there: await asItIs(session, path),
  }));
  await showPairs(sides, await Promise.all(pairs));
}
