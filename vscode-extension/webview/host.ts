// The other side: the extension. Calls have answers; what comes in is checked.
import * as l10n from "@vscode/l10n";
import {
  answers,
  messageToPage,
  type Answer,
  type CallName,
  type FromPage,
  type Given,
  type Problem,
  type ToPage,
} from "../src/conversation/messages";

/** What VS Code gives a page. */
export interface Api {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** Why a call failed, for people. */
export class CallError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

interface Waiting {
  readonly name: CallName;
  readonly resolve: (answer: object) => void;
  readonly reject: (error: CallError) => void;
}

export class Host {
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor(
    private readonly api: Api,
    private readonly take: (message: Exclude<ToPage, { type: "reply" }>) => void,
  ) {
    window.addEventListener("message", (event) => {
      const message = messageToPage(event.data);
      if (message?.type === "reply") this.settle(message);
      else if (message) this.take(message);
    });
  }

  post(message: FromPage): void {
    this.api.postMessage(message);
  }

  /** Has the extension do something. Rejects with a CallError. */
  call<C extends CallName>(name: C, given: Given<C>): Promise<Answer<C>> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { name, resolve: (answer) => resolve(answer as Answer<C>), reject });
      this.post({ type: "call", id, name, given });
    });
  }

  private settle({ id, answer, problem }: Extract<ToPage, { type: "reply" }>): void {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    this.waiting.delete(id);
    if (answer && answers[waiting.name](answer)) waiting.resolve(answer);
    else
      waiting.reject(
        new CallError(problem ?? { message: l10n.t("The extension's answer to {0} makes no sense.", waiting.name) }),
      );
  }
}
