// Lists to choose from that the server gives.
import { l10n, QuickPickItemKind, window, type QuickPickItem } from "vscode";
import type { Backend, BackendInfo, ModelInfo, Session } from "../../../editors/protocol";
import { RpcError } from "../client/rpc";
import type { Ctx } from "../ctx";
import { folders } from "../folders";
import { backendText, sentence } from "../model/text";

interface Choice<T> extends QuickPickItem {
  readonly value?: T;
  /** Why it cannot be chosen. */
  readonly refusal?: RpcError;
}

/** Lets the user choose; undefined when nothing is chosen. Choosing what cannot be used throws why. */
async function choose<T>(choices: Choice<T>[] | Promise<Choice<T>[]>, placeHolder: string): Promise<T | undefined> {
  const picked = await window.showQuickPick(choices, { placeHolder, matchOnDescription: true, matchOnDetail: true });
  if (picked?.refusal) throw picked.refusal;
  return picked?.value;
}

/** Lets the user choose where to run. For the local backend it offers the open folder. */
export function pickBackend(ctx: Ctx, session: Session | undefined, placeHolder: string): Promise<Backend | undefined> {
  return choose(backendChoices(ctx, session), placeHolder).then(async (picked) => {
    if (picked !== "image") return picked;
    const image = await window.showInputBox({
      prompt: l10n.t("Image of the container"),
      placeHolder: "debian:12",
      validateInput: (text) => (text.trim() === "" || /\s/.test(text.trim()) ? l10n.t("Name one image.") : undefined),
    });
    return image === undefined ? undefined : { kind: "docker", image: image.trim() };
  });
}

async function backendChoices(ctx: Ctx, session: Session | undefined): Promise<Choice<Backend | "image">[]> {
  await ctx.rpc.request("sessions", { limit: 1 }); // wakes the worker, which alone can tell what is available
  const { backends } = await ctx.rpc.request("backends", {});
  const usable = backends.filter(({ available }) => available);
  const others = usable.filter(({ kind }) => kind !== session?.backend.kind);
  const now = usable.filter(({ kind }) => kind === session?.backend.kind);
  const choices = (infos: readonly BackendInfo[]): Choice<Backend | "image">[] =>
    infos.flatMap((info) => [backendChoice(info), ...more(info, session)]);
  return [
    ...choices(others),
    ...group(l10n.t("where it is now"), choices(now)),
    ...group(l10n.t("not available"), backends.filter(({ available }) => !available).map(unavailableChoice)),
  ];
}

function group<T>(label: string, choices: Choice<T>[]): Choice<T>[] {
  return choices.length > 0 ? [separator(label), ...choices] : [];
}

/** Choosing what is not available tells why, and what helps. */
function unavailableChoice(info: BackendInfo): Choice<Backend> {
  return {
    label: `$(circle-slash) ${sentence(backendText(info.kind))}`,
    description: info.reason ?? l10n.t("unknown why"),
    ...(info.remedy && { detail: sentence(info.remedy) }),
    refusal: unavailable(sentence(backendText(info.kind)), info),
  };
}

function backendChoice(info: BackendInfo): Choice<Backend> {
  const where: Record<BackendInfo["kind"], string> = {
    local: l10n.t("the session's own folder, in place"),
    docker: l10n.t("a container on this machine, on a copy of the folder"),
    e2b: l10n.t("a sandbox of E2B, on a copy of the folder without its secrets"),
    daytona: l10n.t("a sandbox of Daytona, on a copy of the folder without its secrets"),
  };
  const icons: Record<BackendInfo["kind"], string> = {
    local: "folder",
    docker: "package",
    e2b: "cloud",
    daytona: "cloud",
  };
  return {
    label: `$(${icons[info.kind]}) ${sentence(backendText(info.kind))}`,
    description: where[info.kind],
    value: { kind: info.kind },
  };
}

/** More ways to use an available backend: another open folder, another image. */
function more(info: BackendInfo, session: Session | undefined): Choice<Backend | "image">[] {
  if (!info.available) return [];
  if (info.kind === "docker") {
    return [
      {
        label: `$(package) ${l10n.t("Docker with another image…")}`,
        description: l10n.t("any image that this machine has"),
        value: "image",
      },
    ];
  }
  if (info.kind !== "local" || !session) return [];
  return folders()
    .filter((folder) => folder.uri.toString() !== session.workspaceFolder)
    .map((folder) => ({
      label: `$(folder-opened) ${l10n.t("Local folder: {0}", folder.name)}`,
      description: l10n.t("the open folder {0}", folder.uri.fsPath),
      value: { kind: "local", workspaceRoot: folder.uri.fsPath },
    }));
}

/** Lets the user choose a model. */
export function pickModel(ctx: Ctx, now: string): Promise<string | undefined> {
  const choices = ctx.rpc.request("models", {}).then(({ models }) => models.map((model) => modelChoice(model, now)));
  return choose(choices, l10n.t("Model, now {0}", now));
}

function modelChoice(model: ModelInfo, now: string): Choice<string> {
  const description = model.id === now ? `${model.provider} · ${l10n.t("in use")}` : model.provider;
  if (model.available) return { label: model.id, description, value: model.id };
  return {
    label: `$(circle-slash) ${model.id}`,
    description: `${description} · ${l10n.t("not available: {0}", model.reason ?? l10n.t("unknown why"))}`,
    ...(model.remedy && { detail: sentence(model.remedy) }),
    refusal: unavailable(model.id, model),
  };
}

function unavailable(name: string, info: { reason?: string; remedy?: string }): RpcError {
  return new RpcError(
    "backendUnavailable",
    l10n.t("{0} is not available: {1}.", name, info.reason ?? l10n.t("unknown why")),
    info.remedy,
  );
}

/** A line between groups of choices. */
export function separator(label: string): QuickPickItem {
  return { label, kind: QuickPickItemKind.Separator };
}
