// The log of the extension: one channel, whose level the user sets with "Developer: Set Log Level".
import { window, type LogOutputChannel } from "vscode";

/** Opens the channel. */
export function openLog(): LogOutputChannel {
  return window.createOutputChannel("Sandbox Agent", { log: true });
}
