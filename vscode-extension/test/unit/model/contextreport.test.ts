import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { contextReport } from "../../../src/model/contextreport";

describe("the report of what the agent will see", () => {
  it("says it by kind, in words, with what each takes of the window", () => {
    const report = contextReport("Fix the parser", {
      model: "gpt",
      tokens: 52_000,
      window: 400_000,
      parts: [
        { kind: "systemPrompt", name: "how Sandbox Agent works", detail: "version ab12", tokens: 5000 },
        { kind: "tool", name: "exec_command", tokens: 900 },
        { kind: "tool", name: "read_file", tokens: 100 },
        { kind: "conversation", name: "results of tools", detail: "12", tokens: 46_000 },
        { kind: "instructions", name: "AGENTS.md", tokens: 0, problem: "the sandbox is not running" },
      ],
    });
    assert.equal(
      report,
      [
        "What the agent will see in “Fix the parser”",
        "",
        "About 52.0k of the 400.0k tokens that the model gpt takes.",
        "At 320.0k the conversation is shortened.",
        "",
        "    5.0k    1 %  System prompt",
        "    5.0k           how Sandbox Agent works (version ab12)",
        "",
        "    1.0k  < 1 %  Tools",
        "     900           exec_command",
        "     100           read_file",
        "",
        "   46.0k   12 %  Conversation so far",
        "   46.0k           results of tools (12)",
        "",
        "       0    0 %  Instructions of the workspace",
        "       0           AGENTS.md !",
        "",
        "Left out, or not whole:",
        "",
        "  ! AGENTS.md: The sandbox is not running",
        "",
      ].join("\n"),
    );
  });

  it("shows a kind of a newer server as it is called", () => {
    const parts = [{ kind: "memory" as "text", name: "x", tokens: 1 }];
    assert.match(contextReport("t", { model: "m", tokens: 1, window: 0, parts }), /memory/);
  });
});
