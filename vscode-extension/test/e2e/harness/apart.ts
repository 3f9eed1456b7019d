// This file has web views live in a process of their own, as those of VS Code's desktop do, so that what they take can be told
// from what the window takes: code-server serves both from one address.
import type { BrowserContext, CDPSession, Frame, Page } from "playwright-core";

/** What Chromium is started with. */
export const switches = ["--site-per-process"];

/** What the profile needs: the window's policy knows no other address for web views. */
export const permissions = { bypassCSP: true };

/** Gives the web views of a profile an address of their own, which VS Code derives from the window's. */
export async function apart(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const find = document.getElementById.bind(document);
    document.getElementById = (id: string) => {
      const element = find(id);
      if (element && id === "vscode-workbench-web-configuration") {
        const settings = JSON.parse(element.dataset.settings ?? "") as { webviewEndpoint: string };
        const { pathname } = new URL(settings.webviewEndpoint, location.href);
        settings.webviewEndpoint = `http://{{uuid}}.localhost:${location.port}${pathname}`;
        element.dataset.settings = JSON.stringify(settings);
      }
      return element;
    };
  });
}

function isApart(frame: Frame): boolean {
  return frame.url().includes(".localhost:");
}

/** The page of the web view: the innermost frame. */
export function innermost(page: Page): Frame {
  const frame = page.frames().findLast((one) => isApart(one) && one.childFrames().length === 0);
  if (!frame) {
    throw new Error("no web view has a process of its own");
  }
  return frame;
}

/** Speaks to the process of the web view. */
export function sessionOf(page: Page): Promise<CDPSession> {
  const outermost = innermost(page).parentFrame();
  if (!outermost) {
    throw new Error("the web view has no frame around it");
  }
  return page.context().newCDPSession(outermost);
}
