// The commands of a session that can be stopped.
import type { SessionView } from "./session";

/** A command that runs. */
export interface RunningCommand {
  readonly itemId: string;
  readonly command: string;
  /** It goes on beside the turn. */
  readonly background: boolean;
}

/** Those that a turn waits for first, then those in the background. */
export function runningCommands(view: SessionView): RunningCommand[] {
  const asked = new Set(view.pendingApprovals.map((approval) => approval.itemId));
  const called = view.items.filter(
    (item) => item.status === "inProgress" && item.tool === "exec_command" && !asked.has(item.id),
  );
  return [
    ...called.map((item) => ({ itemId: item.id, command: item.text ?? "", background: false })),
    ...view.background.map(({ itemId, command }) => ({ itemId, command, background: true })),
  ];
}
