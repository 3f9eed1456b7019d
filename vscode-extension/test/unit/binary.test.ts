import assert from "node:assert/strict";
import { homedir } from "node:os";
import { describe, it } from "node:test";
import { findProgram, type Places } from "../../src/client/binary";

const places: Places = { setting: "", extension: "/ext", path: ".:/usr/bin:/opt/bin" };

function find(given: Partial<Places>, ...there: string[]): unknown {
  return findProgram({ ...places, ...given }, (file) => there.includes(file));
}

describe("the program", () => {
  it("is the one of the setting before all others", () => {
    const found = find({ setting: "/my/agent" }, "/my/agent", "/ext/bin/sandbox-agent", "/usr/bin/sandbox-agent");
    assert.deepEqual(found, { path: "/my/agent", source: "setting" });
  });

  it("is found below the home directory", () => {
    const path = `${homedir()}/bin/agent`;
    assert.deepEqual(find({ setting: "~/bin/agent" }, path), { path, source: "setting" });
  });

  it("is the extension's own before that of PATH", () => {
    const found = find({}, "/ext/bin/sandbox-agent", "/usr/bin/sandbox-agent");
    assert.deepEqual(found, { path: "/ext/bin/sandbox-agent", source: "extension" });
  });

  it("is the first in PATH, but never one of a relative folder", () => {
    const found = find({}, "sandbox-agent", "./sandbox-agent", "/opt/bin/sandbox-agent");
    assert.deepEqual(found, { path: "/opt/bin/sandbox-agent", source: "path" });
  });

  it("is not replaced by another one when the setting is wrong", () => {
    for (const setting of ["/gone", "bin/agent"]) {
      const found = find({ setting }, "/usr/bin/sandbox-agent") as { message: string; remedy: string };
      assert.match(found.message, new RegExp(setting));
      assert.match(found.remedy, /sandboxAgent\.server\.path|whole path/);
    }
  });

  it("is told to be missing with what to do", () => {
    const found = find({}) as { message: string; remedy: string };
    assert.equal(found.message, "The program sandbox-agent is not found.");
    assert.match(found.remedy, /PATH/);
  });
});
