// The page of the conversation: begins, takes what the extension sends, and draws.
import "./style/base.css";
import "./style/frame.css";
import "./style/list.css";
import "./style/said.css";
import "./style/tools.css";
import "./style/code.css";
import * as l10n from "@vscode/l10n";
import { render } from "preact";
import { keepFocus } from "./focus";
import { Host, type Api } from "./host";
import { App } from "./parts/app";
import { restored, type Saved } from "./saved";
import { Store } from "./store";

declare function acquireVsCodeApi(): Api;

const saveAfter = 200; // ms; every key press changes a draft

function begin(api: Api, root: HTMLElement): void {
  let unsaved: Saved | undefined;
  let timer = 0;
  const flush = (): void => {
    clearTimeout(timer);
    if (unsaved) api.setState(unsaved);
    unsaved = undefined;
  };
  const save = (saved: Saved): void => {
    if (!unsaved) timer = window.setTimeout(flush, saveAfter);
    unsaved = saved;
  };
  window.addEventListener("pagehide", flush);
  document.addEventListener("visibilitychange", flush);

  const draw = (): void => render(<App store={store} />, root);
  const host = new Host(api, (message) => {
    if (message.type !== "hello") {
      store.take(message);
      return;
    }
    if (message.texts) l10n.config({ contents: message.texts });
    store.slash = message.slash;
    store.changed();
  });
  const store = new Store(host, restored(api.getState()), save, draw);
  draw();
  keepFocus(root);
  host.post({ type: "ready" });
}

const root = document.getElementById("root");
if (root) begin(acquireVsCodeApi(), root);
