// This file reads what VS Code itself has noted about the start of our extension: Developer: Startup Performance.
import type { Workbench } from "./workbench.ts";
import { until } from "./wait.ts";

/** How long the parts of an activation took, in milliseconds, and what it was for. */
export interface Activation {
  readonly load: number;
  readonly call: number;
  readonly finish: number;
  readonly event: string;
}

/** The activation of our extension; undefined when it is not active. */
export async function activation(window: Workbench): Promise<Activation | undefined> {
  await window.run("Developer: Startup Performance");
  const text = await until("the record of the start", async () => {
    await window.page.locator(".editor-instance .view-lines").first().click();
    await window.page.keyboard.press("Control+A");
    await window.page.keyboard.press("Control+C");
    const copied = await window.page.evaluate(() => navigator.clipboard.readText());
    return copied.includes("## Extension Activation Stats") && copied;
  });
  const tab = window.page.locator(".tabs-container .tab").first();
  await until("the end of the record", async () => {
    if (!(await tab.isVisible())) {
      return true;
    }
    await tab.click({ button: "middle" }); // which closes it: the next record must be made anew
    return false;
  });
  const line = text.split("\n").find((one) => one.startsWith("| sandbox-agent.sandbox-agent "));
  if (line === undefined) {
    return undefined;
  }
  const [, , , load, call, finish, event = ""] = line.split("|").map((cell) => cell.trim());
  return { load: Number(load), call: Number(call), finish: Number(finish), event };
}
