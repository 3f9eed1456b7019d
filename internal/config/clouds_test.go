package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestCloudsAreSetByFileAndEnvironment(t *testing.T) {
	p := newInstallation(t)
	writeFile(t, p.ConfigFile, `
[e2b]
template = "code:v2"
network = "none"
timeout = "5m"
[daytona]
image = "snapshot:mine"
memory = "4g"
disk = "10GB"
cpus = 2
delete = "720h"
`)
	said := map[string]string{
		"E2B_API_URL": "http://127.0.0.1:1", "E2B_DOMAIN": "cloud.example:8443", "E2B_SANDBOX_URL": "http://127.0.0.1:2",
		"DAYTONA_API_URL": "https://cloud.example/api", "DAYTONA_TARGET": "eu", "SANDBOX_AGENT_E2B_TIMEOUT": "6m",
	}
	c, warnings, err := Load(p, func(name string) (string, bool) { value, ok := said[name]; return value, ok })
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.NoError(t, c.Validate())
	require.Equal(t, E2B{
		APIURL: "http://127.0.0.1:1", Domain: "cloud.example:8443", SandboxURL: "http://127.0.0.1:2", Template: "code:v2", Network: "none",
		Timeout: 6 * time.Minute,
	}, c.E2B)
	require.Equal(t, Daytona{
		APIURL: "https://cloud.example/api", Target: "eu", Image: "snapshot:mine", CPUs: 2, Memory: 4, Disk: 10, Delete: 720 * time.Hour,
	}, c.Daytona)
}

func TestWrongCloudSettingsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[e2b]\ntimeout = \"3s\"":      "e2b.timeout must be a duration such as \"30m\" or \"2h\", from 15s to 24h0m0s",
		"[daytona]\ntimeout = \"30s\"": "daytona.timeout must be",
		"[daytona]\nmemory = \"512m\"": "daytona.memory must be a size in whole gigabytes",
		"[e2b]\ndomain = \"a b\"":      "e2b.domain must be the name of a domain",
		"[e2b]\napi_key = \"e2b_x\"":   "is a secret and does not belong into this file",
		"[daytona]\nnetwork = \"on\"":  "daytona.network must be none or internet",
	} {
		p := newInstallation(t)
		writeFile(t, p.ConfigFile, text)
		_, _, err := Load(p, nil)
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), text)
		require.ErrorContains(t, err, want)
	}
}
