// How things are told: one sentence and what can be done about it.
import { commands, l10n, window } from "vscode";
import { advice } from "./model/text";
import { rpcError, type RpcCode, type RpcError } from "./client/rpc";

interface Remedy {
  readonly title: string;
  readonly command: string;
  readonly arguments?: readonly unknown[];
}

/** Of what is longer and has no button VS Code shows only the beginning. In characters. */
const oneLine = 60;

/** What helps against a failure, each by its button. */
export function remedies(error: RpcError): Remedy[] {
  const { code, remedy } = error;
  const key = { title: l10n.t("Set API Key"), command: "sandboxAgent.setApiKey" };
  if (remedy?.includes("_API_KEY")) return [key];
  const logs = { title: l10n.t("Show Logs"), command: "sandboxAgent.showLogs" };
  const known = remediesOf(code, key, logs);
  return known.length === 0 && advice(error).length > oneLine ? [logs] : known;
}

function remediesOf(code: RpcCode, key: Remedy, logs: Remedy): Remedy[] {
  const doctor = { title: l10n.t("Doctor"), command: "sandboxAgent.doctor" };
  switch (code) {
    case "missing":
      return [
        {
          title: l10n.t("Open Settings"),
          command: "workbench.action.openSettings",
          arguments: ["sandboxAgent.server"],
        },
        doctor,
      ];
    case "untrusted":
      return [{ title: l10n.t("Manage Workspace Trust"), command: "workbench.trust.manage" }];
    case "modelUnavailable":
      return [key];
    case "workerUnavailable":
    case "temporalUnavailable":
    case "backendUnavailable":
      return [doctor, logs];
    case "internal":
    case "exited":
      return [logs];
    default:
      return [];
  }
}

/** Tells of a failure, without waiting for the user. What the user has cancelled is no failure. */
export function sayError(thrown: unknown): RpcError {
  const error = rpcError(thrown);
  if (error.code === "cancelled") return error;
  const offered = remedies(error);
  const show = error.retryable ? window.showWarningMessage : window.showErrorMessage;
  void show(advice(error), ...offered.map(({ title }) => title)).then((title) => {
    const remedy = offered.find((one) => one.title === title);
    return remedy && commands.executeCommand(remedy.command, ...(remedy.arguments ?? []));
  });
  return error;
}

/** Tells of something, without waiting for the user. */
export function sayInfo(text: string): void {
  void window.showInformationMessage(text);
}

/** Tells of something and offers what can be done about it, each by its button, without waiting for the user. */
export function sayOffer(text: string, acts: Readonly<Record<string, () => Promise<void>>>): void {
  window
    .showInformationMessage(text, ...Object.keys(acts))
    .then((picked) => (picked === undefined ? undefined : acts[picked]?.()))
    .then(undefined, sayError);
}
