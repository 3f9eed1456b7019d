// This file is compiled, never run: it uses the generated types as a client does, and misuses them where that must fail.

import { eventMethod, methods } from "../../editors/protocol";
import type { CommandName, EventMessage, Params, Result, Status } from "../../editors/protocol";

declare function request<C extends CommandName>(command: C, params: Params<C>): Promise<Result<C>>;

export async function ask(text: string): Promise<string> {
  const answer = await request("ask", { text, requestId: "1" });
  await request("backends", {});
  // @ts-expect-error text is required
  await request("ask", {});
  // @ts-expect-error no such decision
  await request("answerApproval", { sessionId: "s", approvalId: "a", decision: "perhaps" });
  return `${answer.sessionId} ${methods.ask} ${eventMethod}`;
}

// Every event is told apart by its type, and each has the fields it promises.
export function describe({ event, seq }: EventMessage): string {
  switch (event.type) {
    case "session/updated":
      return event.session.title;
    case "state/changed":
      return phrase(event.state.status);
    case "turn/started":
      return `turn ${event.turnId}`;
    case "turn/completed":
      return event.error?.code ?? event.status;
    case "item/started":
    case "item/completed":
      return event.item.kind;
    case "item/delta":
      return `${event.itemId} ${event.n.toFixed()} ${event.data}`;
    case "approval/requested":
    case "approval/resolved":
      return event.approval.subject;
    case "queue/changed":
      return `${event.queued.length} waiting`;
    case "checkpoint/created":
      return event.checkpoint.summary;
    case "usage/updated":
      return `${event.usage.inputTokens + event.usage.outputTokens} tokens`;
    case "backend/changed":
      return event.backend.kind;
    case "background/changed":
      return `${event.background.length} in the background`;
    case "connection/changed":
      return event.connected ? (event.state?.status ?? "connected") : (event.reason ?? "");
    default: {
      const unknown: never = event;
      return `${seq} ${String(unknown)}`;
    }
  }
}

function phrase(status: Status): string {
  return status === "waitingApproval" ? "waiting for you" : status;
}
