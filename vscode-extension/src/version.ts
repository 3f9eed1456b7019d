// Tells when the programs and this extension are of different versions.
import { commands, l10n, window, type Disposable } from "vscode";
import type { Rpc } from "./client/rpc";

/** Why the versions do not fit each other; undefined when they do. Before 1.0 each minor version may differ. */
export function mismatch(server: string, extension: string): string | undefined {
  const [a, b] = [series(server), series(extension)];
  if (a === b) return undefined;
  return l10n.t(
    "The program sandbox-agent is version {0}, and this extension is made for {1}: install the same version of both, or clear the setting sandboxAgent.server.path.",
    server,
    extension,
  );
}

function series(version: string): string {
  const [major = "", minor = ""] = version.replace(/^v/, "").split(".");
  return major === "0" ? `${major}.${minor}` : major;
}

/** Of what has no button VS Code shows the beginning only. */
async function tell(warning: string): Promise<void> {
  const open = l10n.t("Open Settings");
  if ((await window.showWarningMessage(warning, open)) !== open) return;
  await commands.executeCommand("workbench.action.openSettings", "sandboxAgent.server.path");
}

/** Warns once of each version that does not fit. */
export function warnOfVersion(rpc: Pick<Rpc, "onState">, extension: string): Disposable {
  const warned = new Set<string>();
  return rpc.onState((state) => {
    if (state.kind !== "ready" || warned.has(state.capabilities.version)) return;
    warned.add(state.capabilities.version);
    const warning = mismatch(state.capabilities.version, extension);
    if (warning) void tell(warning);
  });
}
