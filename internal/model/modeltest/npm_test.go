// This file runs the check of the scripted server by OpenAI's own npm client.

package modeltest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model/modeltest"
)

const npmDir = "npm"

func TestOfficialClient(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped by -short: it installs a package with npm")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: %s is not installed, so the scripted server cannot be checked with OpenAI's npm client", program)
		}
	}
	install(t)
	node := exec.CommandContext(t.Context(), "node", "--test", "check.mjs")
	node.Dir = npmDir
	node.Env = append(os.Environ(), "BASE_URL="+serve(t, "basic.json"), "FAULTS_URL="+serve(t, "faults.json"))
	out, err := node.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func serve(t *testing.T, script string) string {
	t.Helper()
	s, err := modeltest.Load(filepath.Join("../../../testdata/models", script))
	require.NoError(t, err)
	return modeltest.Start(t, s).URL
}

// install installs the client unless the version that the lock asks for is there.
func install(t *testing.T) {
	t.Helper()
	if version(filepath.Join(npmDir, "node_modules/openai/package.json"), "version") == version(filepath.Join(npmDir, "package.json"), "dependencies", "openai") {
		return
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
	npm.Dir = npmDir
	out, err := npm.CombinedOutput()
	require.NoError(t, err, "npm ci: %s", out)
}

// version reads a text from a JSON file by its path of keys; empty when it is not there.
func version(file string, keys ...string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for _, key := range keys {
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) != nil {
			return ""
		}
		data = object[key]
	}
	var text string
	_ = json.Unmarshal(data, &text)
	return text
}
