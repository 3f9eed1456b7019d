package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestMCPServers(t *testing.T) {
	c, warnings, err := loadText(t, `
[mcp.git_hub]
command = "npx"
args = ["-y", "@x/server", "--port=1"]
timeout = 30
per_session = true
colour = "red"
[mcp.git_hub.env]
GITHUB_TOKEN = "${MY_TOKEN}"
MODE = "fast"
[mcp.docs]
url = "https://docs.example/mcp?set=all"
headers = { Authorization = "Bearer ${DOCS}" }
tools = ["search_*"]
start_timeout = "5s"
enabled = false
`)
	require.NoError(t, err)
	require.Equal(t, map[string]MCPServer{
		"git_hub": {
			Command: "npx", Args: []string{"-y", "@x/server", "--port=1"}, Env: map[string]string{"GITHUB_TOKEN": "${MY_TOKEN}", "MODE": "fast"},
			Timeout: 30 * time.Second, StartTimeout: DefaultMCPStartTimeout, PerSession: true,
		},
		"docs": {
			URL: "https://docs.example/mcp?set=all", Headers: map[string]string{"Authorization": "Bearer ${DOCS}"}, Tools: []string{"search_*"},
			Timeout: DefaultMCPTimeout, StartTimeout: 5 * time.Second, Disabled: true,
		},
	}, c.MCP)
	require.Len(t, warnings, 1)
	require.Equal(t, 7, warnings[0].Line)
	require.Contains(t, warnings[0].Message, "mcp.git_hub.colour")
}

func TestWrongMCPServers(t *testing.T) {
	for text, want := range map[string]string{
		"mcp = 1":                        "mcp must hold tables",
		"[mcp]\nx = 1":                   "mcp.x must be a table",
		"[mcp.a__b]\ncommand = \"x\"":    `"a__b" cannot be the name`,
		"[mcp.\"a b\"]\ncommand = \"x\"": `"a b" cannot be the name`,
		"[mcp.a]":                        "mcp.a must have a command, or a url",
		"[mcp.a]\ncommand = \"x\"\nurl = \"http://x\"":                           "has a command and a url",
		"[mcp.a]\nurl = \"http://x\"\nargs = []":                                 "need a command",
		"[mcp.a]\ncommand = \"x\"\n[mcp.a.headers]\nA = \"b\"":                   "headers of mcp.a need a url",
		"[mcp.a]\ncommand = \"./x\"":                                             "mcp.a.command must be the name of a program",
		"[mcp.a]\ncommand = \"x\"\nargs = [1]":                                   "mcp.a.args must be a list of texts",
		"[mcp.a]\ncommand = \"x\"\nargs = [\"--api-key=12345\"]":                 "mcp.a.args must hold no secrets",
		"[mcp.a]\ncommand = \"x\"\nargs = [\"--token\", \"12345\"]":              "mcp.a.args must hold no secrets",
		"[mcp.a]\ncommand = \"x\"\nargs = [\"${TOKEN}\"]":                        "mcp.a.args must hold no secrets",
		"[mcp.a]\ncommand = \"x\"\n[mcp.a.env]\nX_TOKEN = \"12345\"":             "mcp.a.env.X_TOKEN is a secret",
		"[mcp.a]\ncommand = \"x\"\n[mcp.a.env]\nX = \"${1}\"":                    "mcp.a.env.X must be text in which",
		"[mcp.a]\ncommand = \"x\"\n[mcp.a.env]\nX = \"${ABC\"":                   "mcp.a.env.X must be text in which",
		"[mcp.a]\ncommand = \"x\"\ntoken = \"12345\"":                            "mcp.a.token is a secret",
		"[mcp.a]\nurl = \"http://u:12345@x\"":                                    "mcp.a.url must be",
		"[mcp.a]\nurl = \"http://x?api_key=12345\"":                              "mcp.a.url must be",
		"[mcp.a]\nurl = \"http://x\"\nheaders = { Authorization = \"B 12345\" }": "mcp.a.headers.Authorization is a secret",
		"[mcp.a]\nurl = \"http://x\"\nheaders = { X-Api-Key = \"12345\" }":       "is a secret",
		"[mcp.a]\nurl = \"http://x\"\ntimeout = \"0s\"":                          "mcp.a.timeout must be a duration",
		"[mcp.a]\nurl = \"http://x\"\ntools = [\"[\"]":                           "mcp.a.tools must be a list of patterns",
		"[mcp.a]\nurl = \"http://x\"\nenabled = \"no\"":                          "mcp.a.enabled must be true or false",
	} {
		_, _, err := loadText(t, text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "config.toml:", text)
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), text)
		require.NotContains(t, err.Error(), "12345", text)
	}
}

func TestVariablesOfMCPServers(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".env")
	require.NoError(t, os.WriteFile(file, []byte("FROM_FILE=file-secret-value\nBOTH=file-too\nX_TOKEN=short-one\n"), 0o600))
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"BOTH": "environment", "HOME": "/home/user/quite/deep"}[name]
		return v, ok
	}
	s := NewSecrets(Paths{EnvFile: file}, env)
	text, missing := Expand("a ${FROM_FILE} ${BOTH} ${NONE}", s.Variable)
	require.Equal(t, "a file-secret-value environment ", text)
	require.Equal(t, "NONE", missing)
	require.Equal(t, "it said [redacted] [redacted] environment in /home/user/quite/deep", s.Redact("it said file-secret-value "+s.Variable("X_TOKEN")+" environment in "+s.Variable("HOME")))
}
