// These tests exist because connecting to the wrong Temporal puts a user's session where they will not find it.

package temporal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// environment is a fixed environment; nothing of the real one gets in.
type environment map[string]string

func (e environment) LookupEnv(name string) (string, bool) { v, ok := e[name]; return v, ok }

func (e environment) Environ() []string {
	var all []string
	for k, v := range e {
		all = append(all, k+"="+v)
	}
	return all
}

func writeProfiles(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(path, []byte(`
[profile.default]
namespace = "quiet"
[profile.prod]
address = "prod.example:7233"
namespace = "live"
api_key = "very-secret"
[profile.local]
namespace = "mine"
`), 0o600))
	return path
}

func TestResolve(t *testing.T) {
	file, stateDir := writeProfiles(t), t.TempDir()
	for name, tc := range map[string]struct {
		opts ResolveOptions
		env  environment
		want string // of String; "" for the embedded server
	}{
		"nothing configured":         {},
		"a namespace is no address":  {env: environment{"TEMPORAL_NAMESPACE": "x"}},
		"an empty variable is none":  {env: environment{"TEMPORAL_ADDRESS": ""}},
		"environment":                {env: environment{"TEMPORAL_ADDRESS": "env:1", "TEMPORAL_NAMESPACE": "e"}, want: "env:1, namespace e (environment variable TEMPORAL_ADDRESS)"},
		"flags win over environment": {opts: ResolveOptions{Address: "flag:1"}, env: environment{"TEMPORAL_ADDRESS": "env:1", "TEMPORAL_NAMESPACE": "e"}, want: "flag:1, namespace e (configured address)"},
		"profile by name":            {opts: ResolveOptions{ProfileName: "prod"}, want: `prod.example:7233, namespace live (profile "prod" of ` + file + ")"},
		"profile by variable":        {env: environment{"TEMPORAL_PROFILE": "prod"}, want: `prod.example:7233, namespace live (profile "prod" of ` + file + ")"},
		"profile without address":    {opts: ResolveOptions{ProfileName: "local"}, want: `localhost:7233, namespace mine (profile "local" of ` + file + ")"},
		"environment over profile":   {env: environment{"TEMPORAL_PROFILE": "prod", "TEMPORAL_ADDRESS": "env:1"}, want: "env:1, namespace live (environment variable TEMPORAL_ADDRESS)"},
		"embedded by choice":         {opts: ResolveOptions{Embedded: true}, env: environment{"TEMPORAL_ADDRESS": "env:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.env == nil {
				tc.env = environment{}
			}
			tc.env["TEMPORAL_CONFIG_FILE"] = file
			tc.opts.Env, tc.opts.StateDir = tc.env, stateDir
			p, err := Resolve(t.Context(), tc.opts)
			require.NoError(t, err)
			require.NotContains(t, p.String(), "secret")
			if tc.want == "" {
				require.True(t, p.Embedded)
				require.Equal(t, "not started yet, namespace agent (embedded server in "+stateDir+")", p.String())
				return
			}
			require.False(t, p.Embedded)
			require.Equal(t, tc.want, p.String())
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	file := writeProfiles(t)
	for name, o := range map[string]ResolveOptions{
		"an unknown profile":      {ProfileName: "nowhere", Env: environment{}},
		"a key without address":   {Env: environment{"TEMPORAL_API_KEY": "very-secret"}},
		"a missing certificate":   {Env: environment{"TEMPORAL_ADDRESS": "x:1", "TEMPORAL_TLS_CLIENT_CERT_PATH": "/no/such", "TEMPORAL_TLS_CLIENT_KEY_PATH": "/no/such"}},
		"no state directory":      {Env: environment{}},
		"embedded without a home": {Embedded: true, Env: environment{}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "no state directory" && name != "embedded without a home" {
				o.StateDir = t.TempDir()
			}
			o.ConfigFile = file
			_, err := Resolve(t.Context(), o)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "very-secret")
		})
	}
}

func TestResolveReadsTheEmbeddedState(t *testing.T) {
	dir := t.TempDir()
	b, err := json.Marshal(serverState{Address: "127.0.0.1:4", Namespace: "agent"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "temporal.json"), b, 0o600))
	p, err := Resolve(t.Context(), ResolveOptions{StateDir: dir, Embedded: true})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:4", p.Address)
}
