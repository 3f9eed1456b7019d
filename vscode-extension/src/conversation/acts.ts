// What the page may have done: each of its calls, with what it gives already checked.
import { commands, env, l10n } from "vscode";
import type { Session } from "../../../editors/protocol";
import { RpcError } from "../client/rpc";
import { slashCommands, runSlash } from "../commands/slash";
import { targetOrNew } from "../commands/target";
import type { Base, Ctx } from "../ctx";
import { readOlder } from "../model/older";
import { contextsFor, mentionsFor } from "./attach";
import type { Answer, CallName, Given } from "./messages";
import { readAll, readRange, type Outputs } from "./outputs";
import { insertAtCursor, openFile, openLink } from "./places";
import { Stranded, type Steering } from "./steering";

/** What acts need beside what everything is given. */
export interface Stage {
  /** All of it, by the time that the page calls. */
  readonly ctx: Base;
  readonly outputs: Outputs;
  readonly steering: Steering;
  /** Sends the session that is shown to the page as it is. */
  readonly resend: () => void;
  /** Puts text into the page's input. */
  readonly insert: (text: string) => void;
}

type Acts = { readonly [C in CallName]: (stage: Stage, given: Given<C>) => Promise<Answer<C>> };

const longestRequest = 256 * 1024; // bytes, of the contract

function sessionOf({ ctx }: Stage, id: string | undefined): Session | undefined {
  return id === undefined ? undefined : ctx.sessions.get(id)?.session;
}

function mustBe(stage: Stage, id: string): Session {
  const session = sessionOf(stage, id);
  if (!session) throw new RpcError("notFound", l10n.t("The session {0} is not open here any more.", id));
  return session;
}

const requestId = (): string => crypto.randomUUID();

export const acts: Acts = {
  async ask(stage, { sessionId: given, text, requestId: id }) {
    const { ctx } = stage;
    const sessionId = given ?? (await targetOrNew(ctx as Ctx));
    if (sessionId === undefined) throw new RpcError("cancelled", l10n.t("No folder was chosen."));
    const context = contextsFor(text);
    const { queued } = await ctx.rpc.request("ask", {
      requestId: id,
      sessionId,
      text,
      ...(context.length > 0 && { context }),
    });
    if (ctx.sessions.current !== sessionId) ctx.sessions.use(sessionId);
    void ctx.listing.refresh();
    return { sessionId, queued };
  },

  async askAgain({ ctx }, { sessionId, itemId, requestId: id }) {
    const text = await readAll(ctx.rpc, sessionId, itemId, "text", longestRequest);
    const context = contextsFor(text);
    return ctx.rpc.request("ask", { requestId: id, sessionId, text, ...(context.length > 0 && { context }) });
  },

  async steer(stage, { sessionId, text, requestId: id }) {
    const expectedTurnId = mustBe(stage, sessionId).turnId;
    return stage.ctx.rpc.request("steer", { requestId: id, sessionId, expectedTurnId, text });
  },

  stop: ({ ctx }, { sessionId, turnId }) => ctx.rpc.request("interrupt", { requestId: requestId(), sessionId, turnId }),

  stopCommand: ({ ctx }, { sessionId, itemId }) =>
    ctx.rpc.request("stop", { requestId: requestId(), sessionId, itemId }),

  async queuedText({ ctx }, { sessionId, itemId }) {
    return { text: await readAll(ctx.rpc, sessionId, itemId, "text", longestRequest) };
  },

  editQueued: ({ ctx }, { sessionId, itemId, text }) =>
    ctx.rpc.request("queue", { requestId: requestId(), sessionId, op: "edit", itemId, text }),

  removeQueued: ({ ctx }, { sessionId, itemId }) =>
    ctx.rpc.request("queue", { requestId: requestId(), sessionId, op: "remove", itemId }),

  async steerQueued(stage, { sessionId, itemId }) {
    const { turnId } = mustBe(stage, sessionId);
    const text = await readAll(stage.ctx.rpc, sessionId, itemId, "text", longestRequest);
    try {
      return await stage.steering.now(sessionId, itemId, turnId, text);
    } catch (thrown) {
      if (thrown instanceof Stranded) stage.insert(thrown.text);
      throw thrown;
    }
  },

  async answer({ ctx }, { sessionId, approvalId, decision, pattern, scope, feedback }) {
    return ctx.rpc.request("answerApproval", {
      requestId: requestId(),
      sessionId,
      approvalId,
      decision,
      ...(pattern && { pattern }),
      ...(scope && { scope }),
      ...(feedback && { feedback }),
    });
  },

  read: ({ ctx }, { sessionId, itemId, stream, offset }) => readRange(ctx.rpc, sessionId, itemId, stream, offset),

  async show({ outputs }, { sessionId, itemId, stream }) {
    await outputs.show(sessionId, itemId, stream);
    return {};
  },

  older: ({ ctx }, beginning) => readOlder(beginning, (params) => ctx.rpc.request("history", params)),

  newest(stage) {
    stage.resend();
    return Promise.resolve({});
  },

  async mentions(stage, { query }) {
    return { mentions: await mentionsFor(query, sessionOf(stage, stage.ctx.sessions.current)) };
  },

  async slashArguments({ ctx }, { name, lead }) {
    const command = slashCommands.find((known) => known.name === name);
    return { words: ((await command?.complete?.(ctx as Ctx, lead)) ?? []).slice(0, 100) };
  },

  async slash({ ctx }, { sessionId, line }) {
    const result = await runSlash(ctx as Ctx, sessionId, line);
    return "refused" in result ? result : {};
  },

  async run(_, { sessionId, command }) {
    await commands.executeCommand(`sandboxAgent.${command}`, ...(sessionId === undefined ? [] : [{ sessionId }]));
    return {};
  },

  async resolve({ ctx }) {
    const action = ctx.obstacles.current?.action;
    if (action) await commands.executeCommand(action.command);
    return {};
  },

  async link(stage, { sessionId, href }) {
    await openLink(sessionOf(stage, sessionId), href);
    return {};
  },

  async file(stage, { sessionId, path, line }) {
    await openFile(mustBe(stage, sessionId), { path, line: line ?? 0 });
    return {};
  },

  async copy(_, { text }) {
    await env.clipboard.writeText(text);
    return {};
  },

  async insertCode(_, { text }) {
    await insertAtCursor(text);
    return {};
  },
};
