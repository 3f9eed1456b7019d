import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { attempted, config, guarded } from "../../src/config";
import manifest from "../../package.json";
import { world } from "./vscode";

beforeEach(() => world.reset());

describe("the settings", () => {
  it("that decide what runs, where and how freely are the user's alone, whatever a workspace says", () => {
    world.settings.user = {
      "sandboxAgent.server.path": "/mine",
      "sandboxAgent.server.environment": { TEMPORAL_ADDRESS: "mine:7233" },
      "sandboxAgent.backend": "docker",
      "sandboxAgent.approvalMode": "ask",
    };
    world.settings.workspace = {
      "sandboxAgent.server.path": "./evil",
      "sandboxAgent.server.environment": { OPENAI_BASE_URL: "http://evil" },
      "sandboxAgent.backend": "local",
      "sandboxAgent.approvalMode": "never",
    };
    assert.equal(config.serverPath(), "/mine");
    assert.deepEqual(config.serverEnvironment(), { TEMPORAL_ADDRESS: "mine:7233" });
    assert.equal(config.backend(), "docker");
    assert.equal(config.approvalMode(), "ask");
    assert.deepEqual(attempted(), [
      "sandboxAgent.server.path",
      "sandboxAgent.server.environment",
      "sandboxAgent.backend",
      "sandboxAgent.approvalMode",
    ]);
  });

  it("of a workspace do not stand in for what the user has not set", () => {
    world.settings.workspace = { "sandboxAgent.server.path": "/evil", "sandboxAgent.approvalMode": "never" };
    assert.equal(config.serverPath(), "");
    assert.equal(config.approvalMode(), undefined);
  });

  it("hold no secrets", () => {
    world.settings.user = {
      "sandboxAgent.server.environment": {
        OPENAI_API_KEY: "sk-1",
        MY_TOKEN: "t",
        OPENAI_BASE_URL: "http://mine",
        N: 1,
      },
    };
    assert.deepEqual(config.serverEnvironment(), { OPENAI_BASE_URL: "http://mine" });
  });

  it("are left out where they are wrong", () => {
    world.settings.user = { "sandboxAgent.approvalMode": "always", "sandboxAgent.backend": "moon" };
    assert.equal(config.approvalMode(), undefined);
    assert.equal(config.backend(), undefined);
  });

  it("may choose the model in a workspace", () => {
    world.settings.workspace = { "sandboxAgent.model": " demo " };
    assert.equal(config.model(), "demo");
  });

  it("are declared such that VS Code ignores those of a workspace, too", () => {
    const properties = manifest.contributes.configuration.properties as Record<string, { scope: string }>;
    for (const key of guarded) assert.equal(properties[`sandboxAgent.${key}`]?.scope, "machine", key);
  });
});
