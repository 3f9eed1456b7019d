// The view of the conversation: gives it its page, tells it what happens to the current session, and does what it asks for.
import * as bundle from "@vscode/l10n";
import {
  commands,
  Disposable,
  env,
  l10n,
  Uri,
  window,
  workspace,
  type WebviewView,
  type WebviewViewProvider,
} from "vscode";
import { rpcError } from "../client/rpc";
import { config } from "../config";
import { slashCommands } from "../commands/slash";
import type { Base, Conversation } from "../ctx";
import { folderUri, folders } from "../folders";
import type { SessionUpdate } from "../sessions/sessions";
import { acts, type Stage } from "./acts";
import { newNonce, pageHtml } from "./html";
import { calls, messageFromPage, type CallName, type FromPage, type Problem, type ToPage } from "./messages";
import { Outbox } from "./outbox";
import { Outputs } from "./outputs";
import { Steering } from "./steering";

const viewId = "sandboxAgent.conversation";

/** Registers the view. It attaches to nothing and starts nothing before it is shown. */
export function registerConversation(ctx: Base): Conversation {
  if (l10n.bundle) bundle.config({ contents: l10n.bundle });
  return new ConversationView(ctx);
}

class ConversationView implements WebviewViewProvider, Conversation {
  private view: WebviewView | undefined;
  /** The page has begun and hears. */
  private ready = false;
  private pending: string[] = []; // texts for the input of a page that does not hear yet
  private readonly stage: Stage;
  private readonly outbox: Outbox;
  private readonly parts: Disposable;
  private problem: string | undefined; // why the session could not be shown

  constructor(private readonly ctx: Base) {
    const { sessions, obstacles, rpc, extension } = ctx;
    const outputs = new Outputs(rpc);
    this.outbox = new Outbox(
      (message) => this.post(message),
      () => sessions.currentView,
    );
    this.stage = {
      ctx,
      outputs,
      steering: new Steering(rpc, extension.workspaceState),
      resend: () => this.outbox.all(),
      insert: (text) => this.insert(text),
    };
    this.parts = Disposable.from(
      outputs,
      window.registerWebviewViewProvider(viewId, this),
      sessions.onUpdate((update) => this.update(update)),
      sessions.onDidChangeCurrent(() => this.show()),
      obstacles.onDidChange(() => this.hint()),
      rpc.onState(() => this.fresh()),
      workspace.onDidChangeConfiguration(() => this.fresh()),
    );
  }

  dispose(): void {
    this.parts.dispose();
  }

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  async reveal(sessionId?: string): Promise<void> {
    if (sessionId !== undefined) {
      await this.ctx.sessions.attach(sessionId);
      this.ctx.sessions.use(sessionId);
    }
    await commands.executeCommand(`${viewId}.focus`);
  }

  async focusInput(text = ""): Promise<void> {
    this.insert(text);
    await this.reveal();
  }

  resolveWebviewView(view: WebviewView): void {
    const { webview } = view;
    const root = Uri.joinPath(this.ctx.extension.extensionUri, "dist");
    this.view = view;
    this.ready = false;
    webview.options = { enableScripts: true, localResourceRoots: [root] };
    webview.onDidReceiveMessage((value: unknown) => this.take(value));
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    webview.html = pageHtml({
      source: webview.cspSource,
      nonce: newNonce(),
      script: String(webview.asWebviewUri(Uri.joinPath(root, "webview.js"))),
      style: String(webview.asWebviewUri(Uri.joinPath(root, "webview.css"))),
      language: env.language,
      title: l10n.t("Conversation"),
    });
  }

  private post(message: ToPage): void {
    if (this.ready) void this.view?.webview.postMessage(message);
  }

  private take(value: unknown): void {
    const message = messageFromPage(value);
    if (!message) {
      this.ctx.log.warn("The page of the conversation said something that makes no sense.");
      return;
    }
    switch (message.type) {
      case "ready":
        this.begin();
        break;
      case "drawn":
        this.outbox.acknowledge(message.batch);
        break;
      case "call":
        void this.call(message);
        break;
    }
  }

  /** A page has begun, perhaps again: it is told everything. */
  private begin(): void {
    this.ready = true;
    const slash = slashCommands.map(({ name, argument, description }) => ({ name, argument, description }));
    this.post({ type: "hello", texts: textsOf(l10n.bundle), slash });
    this.hint();
    this.fresh();
    this.show();
    for (const text of this.pending.splice(0)) this.post({ type: "insert", text });
    this.stage.steering.resume().catch((thrown: unknown) => this.warn("steering", thrown));
  }

  /** Shows the current session; without one, the latest of the folder becomes it. */
  private show(): void {
    if (!this.ready) return;
    const { sessions } = this.ctx;
    if (sessions.currentView) this.outbox.reset();
    this.problem = undefined;
    this.connection();
    this.attach()
      .catch((thrown: unknown) => {
        this.warn("attaching", thrown);
        this.problem = rpcError(thrown).advice;
        this.connection();
      })
      .finally(() => {
        if (!sessions.currentView) this.outbox.reset(); // now it is certain that there is none
      });
  }

  private async attach(): Promise<void> {
    const { sessions, rpc } = this.ctx;
    if (sessions.current !== undefined) {
      await sessions.attach(sessions.current);
      return;
    }
    const [folder, ...more] = folders();
    if (!folder || more.length > 0) return; // which one is meant is not ours to guess
    const { sessions: latest } = await rpc.request("sessions", { workspaceFolder: folderUri(folder), limit: 1 });
    if (latest[0] && !this.chosen()) sessions.use(latest[0].id); // none was chosen meanwhile
  }

  private chosen(): boolean {
    return this.ctx.sessions.current !== undefined;
  }

  private update(update: SessionUpdate): void {
    if (!this.ready || update.sessionId !== this.ctx.sessions.current) return;
    switch (update.kind) {
      case "attached":
        if (update.result.items) this.outbox.all();
        else this.outbox.push({ kind: "attached", result: update.result });
        break;
      case "event":
        this.outbox.push({ kind: "event", message: update.message });
        break;
      case "connection":
        this.connection();
        break;
      case "gone":
        this.outbox.reset();
    }
  }

  private connection(): void {
    const { sessions } = this.ctx;
    const { current } = sessions;
    const connection = current === undefined ? { connected: true } : sessions.connection(current);
    const problem = connection.problem ?? this.problem;
    this.post({ type: "connection", connection: { connected: connection.connected, ...(problem && { problem }) } });
  }

  private hint(): void {
    const { current } = this.ctx.obstacles;
    const hint = current && { message: current.message, ...(current.action && { action: current.action.title }) };
    this.post({ type: "hint", ...(hint && { hint }) });
  }

  /** Tells what a new session gets, once the server has said it: the user's settings come first. */
  private fresh(): void {
    const { state } = this.ctx.rpc;
    if (state.kind !== "ready") return;
    const { defaultBackend, defaultModel } = state.capabilities;
    this.post({ type: "fresh", backend: config.backend() ?? defaultBackend, model: config.model() || defaultModel });
  }

  private insert(text: string): void {
    if (this.ready) this.post({ type: "insert", text });
    else this.pending.push(text);
  }

  private async call({ id, name, given }: Extract<FromPage, { type: "call" }>): Promise<void> {
    try {
      this.post({ type: "reply", id, answer: await this.act(name, given) });
    } catch (thrown) {
      this.post({ type: "reply", id, problem: this.problemOf(name, thrown) });
    }
  }

  private act(name: CallName, given: object): Promise<object> {
    if (!calls[name](given)) throw new Error(`The page gave ${name} what makes no sense.`);
    const act = acts[name] as (stage: Stage, given: object) => Promise<object>;
    return act(this.stage, given);
  }

  private problemOf(name: string, thrown: unknown): Problem {
    this.warn(name, thrown);
    const { message, remedy } = rpcError(thrown);
    return { message, ...(remedy && { remedy }) };
  }

  private warn(what: string, thrown: unknown): void {
    const { code, message } = rpcError(thrown);
    this.ctx.log.warn(`${what}: ${code}: ${message}`);
  }
}

/** The translated texts, as the page wants them. */
function textsOf(bundle: typeof l10n.bundle): Record<string, string> | undefined {
  return (
    bundle &&
    Object.fromEntries(
      Object.entries(bundle).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    )
  );
}
