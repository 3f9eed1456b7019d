// What is done in a folder that the user does not trust: its sessions are listed, read, stopped and ended, no more.
import { l10n, workspace } from "vscode";
import type { CommandName } from "../../editors/protocol";
import { RpcError, rpcError, type Rpc } from "./client/rpc";
import type { Obstacles } from "./obstacles";

/** The commands that run nothing and change no file. */
const harmless: ReadonlySet<CommandName> = new Set<CommandName>([
  "sessions",
  "attach",
  "detach",
  "history",
  "readOutput",
  "checkpoints",
  "diff",
  "context",
  "backends",
  "models",
  "doctor",
  "setSecret",
  "title",
  "interrupt",
  "stop",
  "destroy",
]);

/** The commands that the server answers without a worker. */
const answeredAlone: ReadonlySet<CommandName> = new Set<CommandName>(["backends", "models", "doctor", "detach"]);

/** Refuses what needs trust, for everybody who asks through it, and notes whether the worker answers. */
export function trusting(
  rpc: Rpc,
  obstacles: Pick<Obstacles, "noted">,
  trusted: () => boolean = () => workspace.isTrusted,
): Rpc {
  return {
    onEvent: rpc.onEvent,
    onState: rpc.onState,
    get state() {
      return rpc.state;
    },
    async request(command, params, token) {
      if (!trusted() && !permitted(command, params)) throw untrusted();
      try {
        const result = await rpc.request(command, params, token);
        if (!answeredAlone.has(command)) obstacles.noted();
        return result;
      } catch (thrown) {
        const error = rpcError(thrown);
        obstacles.noted(error);
        throw error;
      }
    },
  };
}

/** To deny is always possible, and so is to look at what is queued or allowed. */
function permitted(command: CommandName, params: object): boolean {
  if (command === "answerApproval") return "decision" in params && params.decision === "deny";
  if (command === "queue" || command === "rules") return "op" in params && params.op !== "edit";
  return harmless.has(command);
}

function untrusted(): RpcError {
  const message = l10n.t("This folder is not trusted, so the agent does nothing in it.");
  return new RpcError("untrusted", message, l10n.t("Trust it by “Workspaces: Manage Workspace Trust”."));
}
