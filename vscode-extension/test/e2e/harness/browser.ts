// This file starts the browser that shows VS Code. Nothing that it loads comes from outside this machine.
import { chromium, type Browser, type BrowserContext } from "playwright-core";
import { apart, permissions, switches } from "./apart.ts";
import { patience } from "./wait.ts";

const headless = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--mute-audio",
];

/** Starts Chromium. */
export function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";
  return chromium.launch({ executablePath, args: [...headless, ...switches], timeout: patience });
}

/**
 * Makes a profile of its own, which notes in outside what it was kept from loading. In one for measuring, web views have a
 * process of their own.
 */
export async function profile(browser: Browser, outside: string[], measures = false): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
    ...(measures ? permissions : {}),
  });
  if (measures) {
    await apart(context);
  }
  context.setDefaultTimeout(patience);
  const ours = (host: string) => host === "127.0.0.1" || (measures && host.endsWith(".localhost"));
  const foreign = (url: URL) => url.protocol.startsWith("http") && !ours(url.hostname);
  await context.route(foreign, (route) => {
    outside.push(route.request().url());
    return route.abort();
  });
  return context;
}
