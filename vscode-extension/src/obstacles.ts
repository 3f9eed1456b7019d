// What stands between the user and the agent: told by the views where there would be nothing to see otherwise.
import { commands, EventEmitter, l10n, workspace, type Disposable } from "vscode";
import type { ModelInfo } from "../../editors/protocol";
import type { Problem, Rpc, RpcError, ServerState } from "./client/rpc";
import { advice } from "./model/text";
import { folders } from "./folders";

/** One obstacle, with the command that removes it. */
export interface Obstacle {
  readonly kind: "untrusted" | "noFolder" | "missing" | "noWorker" | "noKey";
  readonly message: string;
  readonly action?: { readonly title: string; readonly command: string };
}

/** What is known of the installation. */
export interface Facts {
  readonly trusted: boolean;
  readonly folder: boolean;
  readonly server: ServerState;
  /** Why Temporal or the worker does not answer. */
  readonly worker?: Problem;
  /** The model of new sessions. */
  readonly model?: ModelInfo;
}

/** The first obstacle on the way, as the user meets them. */
export function obstacle(facts: Facts): Obstacle | undefined {
  if (!facts.trusted) {
    return {
      kind: "untrusted",
      message: l10n.t("This folder is not trusted, so the agent does nothing in it. Its sessions can be read."),
      action: { title: l10n.t("Manage Workspace Trust"), command: "workbench.trust.manage" },
    };
  }
  if (!facts.folder) {
    return {
      kind: "noFolder",
      message: l10n.t("Open the folder that the agent shall work in."),
      action: { title: l10n.t("Open Folder"), command: "workbench.action.files.openFolder" },
    };
  }
  return unreachable(facts) ?? keyless(facts.model);
}

function unreachable({ server, worker }: Facts): Obstacle | undefined {
  const doctor = { title: l10n.t("Find Out Why"), command: "sandboxAgent.doctor" };
  if (server.kind === "failed") return { kind: "missing", message: advice(server.problem), action: doctor };
  return worker && { kind: "noWorker", message: advice(worker), action: doctor };
}

function keyless(model: ModelInfo | undefined): Obstacle | undefined {
  if (!model || model.available || model.provider === "demo") return undefined;
  const reason = model.reason ?? l10n.t("there is no key");
  return {
    kind: "noKey",
    message: l10n.t("The model {0} cannot be used: {1}", model.id, reason).replace(/\.?$/, "."),
    action: { title: l10n.t("Set API Key"), command: "sandboxAgent.setApiKey" },
  };
}

/** Follows the obstacles, and keeps the context key that the welcome texts of views depend on. */
export class Obstacles implements Disposable {
  private readonly changes = new EventEmitter<void>();
  private readonly listeners: Disposable[];
  private worker: Problem | undefined;
  private models: readonly ModelInfo[] = [];
  private told: string | undefined;
  readonly onDidChange = this.changes.event;

  constructor(
    private readonly rpc: Rpc,
    /** The model that new sessions have, "" for that of the installation. */
    private readonly model: () => string,
  ) {
    this.listeners = [
      rpc.onState((state) => {
        if (state.kind === "ready") this.learn(state.capabilities.models);
        this.changed();
      }),
      workspace.onDidChangeWorkspaceFolders(() => this.changed()),
      workspace.onDidGrantWorkspaceTrust(() => this.changed()),
      workspace.onDidChangeConfiguration(() => this.changed()),
    ];
  }

  get current(): Obstacle | undefined {
    const model = this.chosen();
    return obstacle({
      trusted: workspace.isTrusted,
      folder: folders().length > 0,
      server: this.rpc.state,
      ...(this.worker && { worker: this.worker }),
      ...(model && { model }),
    });
  }

  /** Notes that a call has failed, or, without an error, that one which needs the worker has succeeded. */
  noted(error?: RpcError): void {
    const silent = error?.code === "workerUnavailable" || error?.code === "temporalUnavailable";
    if (error && !silent) return; // it says nothing about the worker
    if (error) this.worker = { message: error.message, ...(error.remedy && { remedy: error.remedy }) };
    else if (this.worker) this.worker = undefined;
    else return;
    this.changed();
  }

  /** Takes what the server knew at once. Where it says that the model has no key, the worker may know better. */
  private learn(models: readonly ModelInfo[]): void {
    this.models = models;
    if (this.chosen()?.available === false) this.refresh().catch(() => undefined); // then what is known stays
  }

  /** Asks again which models can be used. */
  async refresh(): Promise<void> {
    const { models } = await this.rpc.request("models", {});
    this.models = models;
    this.changed();
  }

  /** Sets the context key for the first time. */
  begin(): void {
    this.changed();
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
    this.changes.dispose();
  }

  private chosen(): ModelInfo | undefined {
    const { state } = this.rpc;
    const id = this.model() || (state.kind === "ready" ? state.capabilities.defaultModel : "");
    return this.models.find((model) => model.id === id);
  }

  private changed(): void {
    const now = JSON.stringify(this.current ?? null);
    if (now === this.told) return;
    this.told = now;
    void commands.executeCommand("setContext", "sandboxAgent.obstacle", this.current?.kind ?? "");
    this.changes.fire();
  }
}
