import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Carry, SwitchParams, SwitchResult } from "../../../editors/protocol";
import { RpcError } from "../../src/client/rpc";
import { allowAlways, allowApproval, denyWithFeedback } from "../../src/commands/approvals";
import { ask, askAboutSelection, interrupt } from "../../src/commands/asking";
import { adoptFork, newSession, switchBackend } from "../../src/commands/moving";
import { destroy, titleProblem } from "../../src/commands/sessions";
import type { Ctx } from "../../src/ctx";
import { Listing } from "../../src/sessions/listing";
import { Sessions } from "../../src/sessions/sessions";
import { Waiting } from "../../src/sessions/waiting";
import { approval, session, snapshot } from "./model/make";
import { FakeRpc } from "./rpc";
import { world } from "./vscode";

let rpc: FakeRpc;
let ctx: Ctx;
let shown: (string | undefined)[];
/** What was put into the input of the conversation. */
let inserted: string[];

const nothing: Carry = {
  added: 0,
  changed: 0,
  removed: 0,
  merged: 0,
  bytes: 0,
  files: [],
  skipped: [],
  skippedAll: 0,
  conflicts: [],
  conflictsAll: 0,
};

beforeEach(() => {
  world.reset();
  world.folders = [world.folder("/w")];
  rpc = new FakeRpc();
  rpc.ready();
  rpc.answers.sessions = () => ({ sessions: [] });
  rpc.answers.attach = ({ sessionId }) => snapshot(1, [], { session: session({ id: sessionId }) });
  rpc.answers.new = () => ({ session: session({ id: "made" }) });
  rpc.answers.ask = ({ sessionId = "" }) => ({ sessionId, turnId: 1, itemId: "i", queued: false, seq: 1 });
  const values = new Map<string, unknown>();
  const sessions = new Sessions(rpc, {
    get: (key: string) => values.get(key) as never,
    update: (key: string, value: unknown) => Promise.resolve(void values.set(key, value)),
  });
  const listing = new Listing(rpc, sessions, () => undefined);
  shown = [];
  inserted = [];
  const conversation = {
    reveal: (id?: string) => Promise.resolve(void shown.push(id)),
    focusInput: (text = "") => Promise.resolve(void inserted.push(text)),
  };
  ctx = { rpc, sessions, listing, conversation, waiting: new Waiting(sessions, listing) } as unknown as Ctx;
});

afterEach(() => ctx.listing.dispose());

/** What was asked by a command, without the ids that are made anew. */
function asked(command: Parameters<FakeRpc["of"]>[0]): object[] {
  return rpc.of(command).map((params) => ({ ...params, ...("requestId" in params && { requestId: "" }) }));
}

describe("asking about a selection", () => {
  /** Selects "text" in a file. */
  function select(path: string): void {
    const uri = { scheme: "file", toString: () => `file://${path}` };
    const [start, end] = [
      { line: 0, character: 0 },
      { line: 0, character: 4 },
    ];
    world.editor = {
      document: { uri, getText: () => "text" },
      selection: { isEmpty: false, start, end },
    };
  }

  /** The sessions that were asked. */
  const askedOf = (): unknown[] => rpc.of("ask").map((params) => "sessionId" in params && params.sessionId);

  beforeEach(async () => {
    world.folders = [world.folder("/w"), world.folder("/v")];
    const folders: Record<string, string> = { here: "file:///w", one: "file:///v", two: "file:///v" };
    rpc.answers.attach = ({ sessionId }) =>
      snapshot(1, [], { session: session({ id: sessionId, workspaceFolder: folders[sessionId] ?? "file:///w" }) });
    await ctx.sessions.attach("here");
    ctx.sessions.use("here");
  });

  it("goes to the current session where the file is in its folder", async () => {
    select("/w/a/b.go");
    await askAboutSelection(ctx, { text: "why?" });
    assert.deepEqual(askedOf(), ["here"]);
  });

  it("goes to the session of the file's folder, and begins one where there is none", async () => {
    select("/v/b.go");
    rpc.answers.sessions = ({ workspaceFolder = "" }) => ({
      sessions: workspaceFolder === "file:///v" ? [session({ id: "one", workspaceFolder })] : [],
    });
    await askAboutSelection(ctx, { text: "why?" });
    rpc.answers.sessions = () => ({ sessions: [] });
    ctx.sessions.use("here");
    await askAboutSelection(ctx, { text: "why?" });
    assert.deepEqual(askedOf(), ["one", "made"]);
    assert.deepEqual(asked("new"), [{ requestId: "", workspaceFolder: "file:///v" }]);
    assert.deepEqual(shown, ["one", "made"]);
  });

  it("lets the user choose among several sessions of that folder, and keeps the question when none is chosen", async () => {
    select("/v/b.go");
    rpc.answers.sessions = () => ({ sessions: [session({ id: "one" }), session({ id: "two", title: "Two" })] });
    world.answer = (question, rows) => {
      assert.equal(question, "Which session of the folder v shall be asked?");
      return (rows as { label: string }[]).find(({ label }) => label === "Two");
    };
    await askAboutSelection(ctx, { text: "why?" });
    assert.deepEqual(askedOf(), ["two"]);
    ctx.sessions.use("here");
    world.answer = () => undefined;
    await askAboutSelection(ctx, { text: "and why?" });
    assert.deepEqual([askedOf(), inserted], [["two"], ["and why?"]]);
  });

  it("goes to a session that is named, wherever that works", async () => {
    select("/v/b.go");
    await askAboutSelection(ctx, { text: "why?", sessionId: "here" });
    assert.deepEqual(askedOf(), ["here"]);
  });
});

describe("ask", () => {
  it("begins a session with the user's settings, not those of the workspace", async () => {
    world.settings.user = { "sandboxAgent.approvalMode": "readOnly", "sandboxAgent.backend": "docker" };
    world.settings.workspace = { "sandboxAgent.approvalMode": "never", "sandboxAgent.model": "demo" };
    await ask(ctx, { text: "why?" });
    assert.deepEqual(asked("new"), [
      {
        requestId: "",
        workspaceFolder: "file:///w",
        backend: { kind: "docker" },
        model: "demo",
        approvalMode: "readOnly",
      },
    ]);
    assert.deepEqual(asked("ask"), [{ requestId: "", sessionId: "made", text: "why?" }]);
    assert.deepEqual(shown, ["made"]);
    assert.equal(ctx.sessions.current, "made");
  });

  it("goes to the current session, else to the latest of the folder", async () => {
    rpc.answers.sessions = () => ({ sessions: [session({ id: "latest" })] });
    await ask(ctx, { text: "one" });
    ctx.sessions.use("current");
    await ask(ctx, { text: "two" });
    await ask(ctx, { text: "three", sessionId: "named" });
    assert.deepEqual(
      rpc.of("ask").map((params) => "sessionId" in params && params.sessionId),
      ["latest", "current", "named"],
    );
    assert.deepEqual(rpc.of("new"), []);
  });

  it("does not go to a current session that is no more", async () => {
    ctx.sessions.use("gone");
    rpc.answers.attach = ({ sessionId }) => {
      if (sessionId === "gone") throw new RpcError("notFound", "There is no such session.");
      return snapshot(1, [], { session: session({ id: sessionId }) });
    };
    await ask(ctx, { text: "why?" });
    assert.deepEqual(asked("ask"), [{ requestId: "", sessionId: "made", text: "why?" }]);
  });

  it("says that no folder is open", async () => {
    world.folders = [];
    await assert.rejects(ask(ctx, { text: "why?" }), { message: "No folder is open." });
  });

  it("asks once which folder is meant where there are several", async () => {
    world.folders = [world.folder("/w"), world.folder("/v")];
    const questions: string[] = [];
    world.answer = (question) => {
      questions.push(question);
      return world.folders[1];
    };
    await ask(ctx, { text: "why?" });
    assert.deepEqual(questions, ["Which folder shall the agent work in?"]);
    assert.deepEqual(asked("new"), [{ requestId: "", workspaceFolder: "file:///v" }]);
  });

  it("keeps what was written when no folder is chosen, and when it cannot be sent", async () => {
    world.folders = [world.folder("/w"), world.folder("/v")];
    await ask(ctx, { text: "one" });
    assert.deepEqual([inserted, rpc.of("ask")], [["one"], []]);
    rpc.answers.ask = () => {
      throw new RpcError("workerUnavailable", "The worker does not answer.");
    };
    await assert.rejects(ask(ctx, { text: "two", sessionId: "s1" }), { code: "workerUnavailable" });
    assert.deepEqual(inserted, ["one", "two"]);
  });

  it("says in which session is asked", async () => {
    const questions: string[] = [];
    world.answer = (question) => void questions.push(question);
    await ask(ctx);
    await ctx.sessions.attach("s1");
    ctx.sessions.use("s1");
    await ask(ctx);
    assert.deepEqual(questions, ["Ask the agent", "Ask the agent in “A title”"]);
  });

  it("sends nothing when the user enters nothing", async () => {
    world.answer = () => "  ";
    await ask(ctx);
    assert.deepEqual(rpc.asked, []);
  });
});

describe("a title", () => {
  it("that is too long is refused while it is written, in characters as people count them", () => {
    assert.equal(titleProblem("🎉".repeat(200)), undefined);
    assert.equal(titleProblem(`${"🎉".repeat(201)} `), "A title has at most 200 characters; this one has 201.");
  });
});

describe("interrupt", () => {
  it("says that no turn runs", async () => {
    await interrupt(ctx, { sessionId: "s1" });
    assert.deepEqual(world.messages, ["No turn runs."]);
    assert.deepEqual(rpc.of("interrupt"), []);
  });
});

describe("switch", () => {
  let carry: Carry;

  beforeEach(() => {
    carry = { ...nothing, added: 1 };
    rpc.answers.switch = ({ backend }): SwitchResult => ({ backend, carry, seq: 2 });
  });

  it("shows what goes along before it is done", async () => {
    world.answer = (text) => (text.startsWith("Switch") ? "Switch" : undefined);
    await switchBackend(ctx, { sessionId: "s1" }, { kind: "docker" });
    assert.deepEqual(asked("switch"), [
      { requestId: "", sessionId: "s1", backend: { kind: "docker" }, dryRun: true },
      { requestId: "", sessionId: "s1", backend: { kind: "docker" } },
    ]);
    const [first, second] = rpc.of("switch") as SwitchParams[];
    assert.notEqual(first?.requestId, second?.requestId);
    assert.deepEqual(world.messages, ["Switch “A title” to Docker?", "It runs in Docker now: 1 added."]);
  });

  it("is not done when the user does not want it", async () => {
    await switchBackend(ctx, { sessionId: "s1" }, { kind: "docker" });
    assert.deepEqual(
      rpc.of("switch").map((params) => "dryRun" in params),
      [true],
    );
  });

  it("lets the user decide about conflicts", async () => {
    carry = { ...nothing, conflicts: [{ path: "a", reason: "both changed it" }], conflictsAll: 1 };
    world.answer = (_, choices) => choices[1]; // the first button
    await switchBackend(ctx, { sessionId: "s1" }, { kind: "local" });
    assert.deepEqual(asked("switch")[1], {
      requestId: "",
      sessionId: "s1",
      backend: { kind: "local" },
      onConflict: "mine",
    });
  });

  it("shows both versions before the user decides, and tells which stayed", async () => {
    carry = { ...nothing, conflicts: [{ path: "a", reason: "both changed it" }], conflictsAll: 1, theirs: "t" };
    const answers = ["Compare", "Decide Change by Change"];
    world.answer = (text, choices) => {
      const wanted = text.startsWith("Switch") ? answers.shift() : undefined;
      return (choices as (string | { label?: string })[]).find(
        (one) => one === wanted || (typeof one === "object" && one.label === wanted),
      );
    };
    await switchBackend(ctx, { sessionId: "s1" }, { kind: "local" });
    assert.equal((asked("switch")[1] as SwitchParams).onConflict, "mine");
    assert.deepEqual(world.executed, ["vscode.diff", "vscode.diff"], "before and, beside the file, afterwards");
    assert.match(world.messages.at(-1) ?? "", /Stays as it was there: a\.$/);
  });

  it("tells what gave way to what came, and what did not although it should have", async () => {
    const conflicts = [
      { path: "a", reason: "both changed it" },
      { path: "b", reason: "it has unsaved changes in the editor" },
    ];
    carry = { ...nothing, conflicts, conflictsAll: 2 };
    world.answer = (_, choices) => {
      carry = { ...nothing, changed: 1, conflicts: conflicts.slice(1), conflictsAll: 1 };
      return (choices as string[]).find((one) => one === "Take the Session’s");
    };
    await switchBackend(ctx, { sessionId: "s1" }, { kind: "local" });
    assert.match(world.messages.at(-1) ?? "", /Stays as it was there: b\. Replaced what was there: a\.$/);
  });

  it("into another folder needs consent", async () => {
    const backend = { kind: "local", workspaceRoot: "/other" } as const;
    await switchBackend(ctx, { sessionId: "s1" }, backend);
    assert.deepEqual(rpc.of("switch"), []);
    world.answer = (text) => (text.startsWith("Carry") ? "Go On" : undefined);
    await switchBackend(ctx, { sessionId: "s1" }, backend);
    assert.deepEqual(asked("switch"), [{ requestId: "", sessionId: "s1", backend, intoNonEmpty: true, dryRun: true }]);
  });

  it("offers backends with why some cannot be used, and refuses those with the reason", async () => {
    rpc.answers.backends = () => ({
      backends: [
        { kind: "local", available: true },
        { kind: "docker", available: false, reason: "no engine answers", remedy: "start Docker." },
      ],
    });
    const labels: string[] = [];
    world.answer = (text, choices) => {
      if (!text.startsWith("Where")) return undefined;
      labels.push(
        ...(choices as { label: string; description?: string }[]).map((one) => `${one.label} ${one.description ?? ""}`),
      );
      return choices.at(-1);
    };
    await assert.rejects(switchBackend(ctx, { sessionId: "s1" }), {
      message: "Docker is not available: no engine answers.",
    });
    assert.match(labels.at(-1) ?? "", /Docker no engine answers/);
    assert.deepEqual(rpc.of("switch"), []);
  });
});

describe("new sessions, forks and ends", () => {
  it("ask where a new session shall run, unless the user has set it", async () => {
    world.settings.user = { "sandboxAgent.backend": "local" };
    await newSession(ctx, { title: "Mine", model: "demo" });
    assert.deepEqual(asked("new"), [
      { requestId: "", workspaceFolder: "file:///w", backend: { kind: "local" }, title: "Mine", model: "demo" },
    ]);
  });

  it("adopt only forks", async () => {
    await adoptFork(ctx, { sessionId: "s1" });
    assert.match(world.messages[0] ?? "", /is no fork/);
    assert.deepEqual(rpc.of("adopt"), []);
  });

  it("destroy only what the user confirms", async () => {
    rpc.answers.destroy = () => ({});
    await destroy(ctx, { sessionId: "s1" });
    assert.deepEqual(rpc.of("destroy"), []);
    world.answer = () => "Destroy";
    await destroy(ctx, { sessionId: "s1" });
    assert.deepEqual(asked("destroy"), [{ requestId: "", sessionId: "s1" }]);
    assert.equal(ctx.sessions.get("s1"), undefined);
  });
});

describe("approvals", () => {
  beforeEach(async () => {
    const asks = approval("a1", { options: ["allow", "allowAlways", "deny"], pattern: "make *" });
    rpc.answers.attach = () => snapshot(1, [], { pendingApprovals: [asks] });
    rpc.answers.answerApproval = ({ approvalId, decision }) => ({
      approvalId,
      decision,
      decidedBy: "vscode",
      already: false,
      seq: 2,
    });
    await ctx.sessions.attach("s1");
  });

  it("are shown before they are allowed from the palette", async () => {
    await allowApproval(ctx);
    assert.deepEqual(rpc.of("answerApproval"), []);
    world.answer = () => "Allow";
    await allowApproval(ctx);
    assert.deepEqual(asked("answerApproval"), [
      { requestId: "", sessionId: "s1", approvalId: "a1", decision: "allow" },
    ]);
  });

  it("are allowed for always by a pattern and a scope that the user decides", async () => {
    world.answer = (text, choices) => (text.startsWith("What") ? "make test" : choices[1]);
    await allowAlways(ctx);
    assert.deepEqual(asked("answerApproval"), [
      {
        requestId: "",
        sessionId: "s1",
        approvalId: "a1",
        decision: "allowAlways",
        pattern: "make test",
        scope: "workspace",
      },
    ]);
  });

  it("are denied with a reason, and who was first is told", async () => {
    rpc.answers.answerApproval = ({ approvalId }) => ({
      approvalId,
      decision: "allow",
      decidedBy: "Neovim",
      already: true,
      seq: 2,
    });
    world.answer = (text) => (text.startsWith("Why") ? "not now" : undefined);
    await denyWithFeedback(ctx);
    assert.deepEqual(asked("answerApproval"), [
      { requestId: "", sessionId: "s1", approvalId: "a1", decision: "deny", feedback: "not now" },
    ]);
    assert.deepEqual(world.messages, ["Neovim had answered already: allow."]);
  });
});
