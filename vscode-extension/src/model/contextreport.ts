// What the model would be told, as a page to read: by kind, with what each part takes of the model's window.
import * as l10n from "@vscode/l10n";
import type { ContextPart, ContextResult } from "../../../editors/protocol";
import { oneLine, sentence, shortNumber } from "./text";

/** Of the window; then the conversation is shortened. As the contract has it. */
const shortenedAt = 0.8;

type Kind = ContextPart["kind"];

function kindText(kind: Kind): string {
  const texts: Record<Kind, string> = {
    systemPrompt: l10n.t("System prompt"),
    tool: l10n.t("Tools"),
    conversation: l10n.t("Conversation so far"),
    instructions: l10n.t("Instructions of the workspace"),
    skill: l10n.t("Skills"),
    question: l10n.t("Question"),
    file: l10n.t("Files that are mentioned"),
    selection: l10n.t("Selections"),
    diagnostics: l10n.t("Errors and warnings"),
    text: l10n.t("Texts"),
    image: l10n.t("Pictures"),
    unsaved: l10n.t("Unsaved files"),
  };
  return (texts as Partial<Record<string, string>>)[kind] ?? kind; // of a newer server
}

/** The report on a session. */
export function contextReport(title: string, { model, tokens, window, parts }: ContextResult): string {
  const kinds = [...new Set(parts.map(({ kind }) => kind))];
  const problems = parts.filter(({ problem }) => problem);
  return [
    l10n.t("What the agent will see in “{0}”", oneLine(title)),
    "",
    l10n.t("About {0} of the {1} tokens that the model {2} takes.", shortNumber(tokens), shortNumber(window), model),
    l10n.t("At {0} the conversation is shortened.", shortNumber(shortenedAt * window)),
    "",
    ...kinds.flatMap((kind) =>
      groupLines(
        kindText(kind),
        parts.filter((part) => part.kind === kind),
        window,
      ),
    ),
    ...(problems.length > 0 ? [l10n.t("Left out, or not whole:"), "", ...problems.map(problemLine), ""] : []),
  ].join("\n");
}

function groupLines(name: string, parts: readonly ContextPart[], window: number): string[] {
  const sum = parts.reduce((total, part) => total + part.tokens, 0);
  const whole = `${column(shortNumber(sum))} ${percent(sum, window).padStart(6)}  ${name}`;
  return [whole, ...parts.map(partLine), ""];
}

function partLine({ name, detail, tokens, problem }: ContextPart): string {
  const about = detail ? ` (${oneLine(detail)})` : "";
  return `${column(shortNumber(tokens))}           ${oneLine(name)}${about}${problem ? " !" : ""}`;
}

function problemLine({ name, problem }: ContextPart): string {
  return `  ! ${oneLine(name)}: ${sentence(oneLine(problem ?? ""))}`;
}

function column(text: string): string {
  return text.padStart(8);
}

function percent(part: number, whole: number): string {
  if (whole <= 0) return "";
  const share = (100 * part) / whole;
  return share > 0 && share < 1 ? "< 1 %" : `${Math.round(share)} %`;
}
