// This file tests precedence, what is refused and what is only warned of.

package config

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func newInstallation(t testing.TB) Paths {
	t.Helper()
	p := testPaths(t)
	require.NoError(t, p.Ensure())
	return p
}

func TestDefaults(t *testing.T) {
	c, warnings, err := Load(testPaths(t), nil)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, Default(), c)
	require.Equal(t, "gpt-5.6-sol", c.Model)
	require.Equal(t, editors.ApprovalAsk, c.ApprovalMode)
	require.NotEmpty(t, c.Owner)
	require.NoError(t, c.Validate())
}

func TestPrecedence(t *testing.T) {
	p := newInstallation(t)
	writeFile(t, p.ConfigFile, `
model = "from-file"
approval_mode = "auto"
effort = "high"
owner = "team"

[openai]
base_url = "http://127.0.0.1:1234/v1"
api = "chat"
idle_timeout = "90s"

[temporal]
address = "example.org:7233"
namespace = "agents"
profile = "cloud"

[worker]
idle_timeout = 600

[local]
confinement = "fs"

[docker]
image = "registry.example:5000/tools:1"
network = "bridge"
memory = "2g"
cpus = 1.5
pids = 300

[log]
level = "warn"
`)
	c, warnings, err := Load(p, nil)
	require.NoError(t, err)
	require.Empty(t, warnings)
	want := Config{
		Model: "from-file", ApprovalMode: editors.ApprovalAuto, Effort: "high", Owner: "team",
		OpenAI:   OpenAI{BaseURL: "http://127.0.0.1:1234/v1", API: "chat", IdleTimeout: 90 * time.Second},
		Temporal: Temporal{Address: "example.org:7233", Namespace: "agents", Profile: "cloud"},
		Worker:   Worker{IdleTimeout: 10 * time.Minute},
		Local:    Local{Confinement: "fs"},
		Docker:   Docker{Image: "registry.example:5000/tools:1", Network: "bridge", Memory: 2 << 30, CPUs: 1.5, Pids: 300},
		Log:      Log{Level: slog.LevelWarn},
	}
	require.Equal(t, want, c)

	writeFile(t, p.EnvFile, "OPENAI_BASE_URL=https://env-file.example/v1\nSANDBOX_AGENT_MODEL=from-env-file\n")
	c, _, err = Load(p, envOf("SANDBOX_AGENT_MODEL", "from-env", "SANDBOX_AGENT_LOG", "debug", "SANDBOX_AGENT_EFFORT", ""))
	require.NoError(t, err)
	require.Equal(t, "from-env", c.Model)
	require.Equal(t, "https://env-file.example/v1", c.OpenAI.BaseURL)
	require.Equal(t, "high", c.Effort, "an empty variable counts as not set")
	require.Equal(t, slog.LevelDebug, c.Log.Level)
}

func TestUnknownKeysAreWarnedOf(t *testing.T) {
	p := newInstallation(t)
	writeFile(t, p.ConfigFile, "# a comment\nmodell = \"typo\"\n\n[openai]\nbase-url = \"x\"\n[extra.part]\nx = 1\n")
	_, warnings, err := Load(p, nil)
	require.NoError(t, err)
	lines := map[string]int{}
	for _, w := range warnings {
		require.Equal(t, p.ConfigFile, w.File)
		require.Contains(t, w.String(), w.Key)
		lines[w.Key] = w.Line
	}
	require.Equal(t, map[string]int{"modell": 2, "openai.base-url": 5, "extra": 6}, lines)
}

func TestWhatIsWrongIsSaidClearly(t *testing.T) {
	cases := map[string][]string{
		"model = 5":                                            {"config.toml:1", "model", "the name of a model"},
		"\nmodel = \"a b\"":                                    {"config.toml:2", "model"},
		"approval_mode = \"yolo\"":                             {"approval_mode", "ask, auto, never, readOnly"},
		"openai = true":                                        {"openai", "table"},
		"[openai]\napi = \"soap\"":                             {"config.toml:2", "openai.api", "responses or chat"},
		"[openai]\nidle_timeout = true":                        {"openai.idle_timeout", "duration"},
		"[openai]\nidle_timeout = \"0s\"":                      {"openai.idle_timeout", "1s"},
		"[openai]\nbase_url = \"ftp://x\"":                     {"openai.base_url", "http"},
		"[openai]\nbase_url = \"https://u:hidden@x/\"":         {"openai.base_url", "user info"},
		"[openai]\nbase_url = \"https://x/?k=hidden\"":         {"openai.base_url", "query"},
		"[log]\nlevel = \"loud\"":                              {"log.level", "debug, info, warn, error"},
		"owner = \"a/b\"":                                      {"owner", "slashes"},
		"model = \"a\"\nmodel = \"b\"":                         {"config.toml:2", "TOML"},
		"OPENAI_API_KEY = hidden":                              {"config.toml:1", "TOML"},
		"OPENAI_API_KEY = \"hidden\"":                          {"config.toml:1", "OPENAI_API_KEY", "secret"},
		"[openai]\nmodel = 1\napi_key = \"hidden\"":            {"config.toml:3", "openai.api_key", "secret"},
		"[other.thing]\naccess-token = \"hidden\"":             {"other.thing.access-token", "secret"},
		"temporal = { address = \"x\", api_key = \"hidden\" }": {"temporal.api_key", "secret"},
	}
	for text, parts := range cases {
		p := newInstallation(t)
		writeFile(t, p.ConfigFile, text)
		_, _, err := Load(p, nil)
		require.Error(t, err, text)
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), text)
		for _, part := range parts {
			require.ErrorContains(t, err, part, text)
		}
		require.NotContains(t, err.Error(), "hidden", text)
	}
}

func TestWrongVariables(t *testing.T) {
	p := newInstallation(t)
	_, _, err := Load(p, envOf("SANDBOX_AGENT_APPROVAL", "sometimes"))
	require.ErrorContains(t, err, "SANDBOX_AGENT_APPROVAL")
	require.ErrorContains(t, err, "readOnly")
	writeFile(t, p.EnvFile, "OPENAI_API=soap\n")
	_, _, err = Load(p, nil)
	require.ErrorContains(t, err, p.EnvFile)
	require.ErrorContains(t, err, "OPENAI_API")
}

func TestValidateAfterFlags(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Model = "" },
		func(c *Config) { c.ApprovalMode = "yolo" },
		func(c *Config) { c.Owner = "a b" },
		func(c *Config) { c.OpenAI.BaseURL = "nowhere" },
		func(c *Config) { c.Worker.IdleTimeout = -1 },
		func(c *Config) { c.E2B.Timeout = time.Second },
		func(c *Config) { c.Daytona.Delete = -1 },
		func(c *Config) { c.E2B.Network = "bridge" },
	} {
		c := Default()
		change(&c)
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(c.Validate()))
	}
}

func TestOddFilesAreRefused(t *testing.T) {
	p := newInstallation(t)
	require.NoError(t, os.Mkdir(p.ConfigFile, 0o700))
	_, _, err := Load(p, nil)
	require.ErrorContains(t, err, "not a regular file")
	require.NoError(t, os.Remove(p.ConfigFile))
	writeFile(t, p.ConfigFile, string(make([]byte, maxFile+1)))
	_, _, err = Load(p, nil)
	require.ErrorContains(t, err, "not a regular file")
}

func TestNothingIsReadFromTheCurrentDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, ".env", "OPENAI_BASE_URL=https://evil.example\nOPENAI_API_KEY=sk-of-the-workspace\n")
	writeFile(t, "config.toml", "model = \"evil\"\n")
	p := newInstallation(t)
	c, _, err := Load(p, nil)
	require.NoError(t, err)
	require.Equal(t, Default(), c)
	require.Empty(t, NewSecrets(p, nil).Get(OpenAIKey))
}

func FuzzLoad(f *testing.F) {
	f.Add("model = 1")
	f.Add("[openai]\napi = \"chat\"\n[[x]]\n\"a.b\" = 2")
	p := newInstallation(f)
	f.Fuzz(func(t *testing.T, text string) {
		writeFile(t, p.ConfigFile, text)
		c, _, err := Load(p, nil)
		if err == nil {
			require.NoError(t, c.Validate())
		}
	})
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "17": 17, "3k": 3 << 10, "512m": 512 << 20, "4G": 4 << 30, "1GB": 1 << 30} {
		n, err := parseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "g", "b", "1.5g", "1t", "9999999999g", "four"} {
		_, err := parseSize(text)
		require.Error(t, err, text)
	}
}

func TestPatternsOfWhatIsCarried(t *testing.T) {
	p := newInstallation(t)
	writeFile(t, p.ConfigFile, "[carry]\nexclude = \"node_modules, *.o,\"\ninclude = \".env\"\n")
	c, warnings, err := Load(p, envOf("SANDBOX_AGENT_CARRY_INCLUDE", "certs/*.pem , .npmrc"))
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, []string{"node_modules", "*.o"}, c.Carry.Excludes())
	require.Equal(t, []string{"certs/*.pem", ".npmrc"}, c.Carry.Includes())
	require.Empty(t, Default().Carry.Includes())

	_, _, err = Load(p, envOf("SANDBOX_AGENT_CARRY_EXCLUDE", "a\nb"))
	require.ErrorContains(t, err, "SANDBOX_AGENT_CARRY_EXCLUDE")
}
