// This file tests what is hidden.

package confine

import (
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecrets(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	home, account, data := filepath.Join(base, "account", "private"), filepath.Join(base, "account"), filepath.Join(base, "data")
	h := Host{Home: home, Homes: []string{account}, Env: []string{"XDG_DATA_HOME=" + data, "HISTFILE=" + filepath.Join(base, "elsewhere", "h"), "GOENV=" + filepath.Join(base, "goenv")}}
	hidden := func(path string) bool {
		for _, s := range h.secrets() {
			if within(s, path) {
				return true
			}
		}
		return false
	}
	for _, in := range []string{home, account} {
		for _, name := range []string{
			".ssh/id", ".docker/config.json", ".histfile", ".zsh_history", ".zsh_history-old", ".zhistory", ".Rhistory", ".claude.json.backup", ".env", ".config/gh/hosts.yml",
			"snap/firefox/common/.mozilla/logins.json", ".var/app/org.mozilla.firefox/x", ".config/microsoft-edge/Cookies", ".config/microsoft-edge-dev/Cookies",
			".config/vivaldi/x", ".config/opera/x", ".config/BraveSoftware/x", ".config/google-chrome-beta/x", ".config/Code/User/x", ".config/Code - OSS/x", ".config/Cursor/x",
			".config/VSCodium/x", ".local/share/atuin/history.db", ".config/keepassxc/x", ".config/Bitwarden CLI/data.json", ".local/share/keyrings/x", ".aliyun/config.json",
		} {
			require.True(t, hidden(put(t, filepath.Join(in, name))), "%s in %s", name, in)
		}
		for _, name := range []string{".config/go/env", "go/pkg/mod/x", ".rustup/toolchains/x", ".local/bin/x", "code/x", ".config/nvim/init.lua", ".gitconfig", ".cargo/bin/x"} {
			require.False(t, hidden(put(t, filepath.Join(in, name))), "%s in %s", name, in)
		}
		require.NoError(t, os.WriteFile(filepath.Join(in, ".config/go/env"), []byte("GOPROXY=https://u:s3cret@proxy.corp\n"), 0o600))
		require.True(t, hidden(filepath.Join(in, ".config/go/env")))
	}
	for _, name := range []string{"data/atuin/x", "elsewhere/h"} {
		require.True(t, hidden(put(t, filepath.Join(base, name))), name)
	}
	require.False(t, hidden(put(t, filepath.Join(base, "goenv"))))
	require.NoError(t, os.WriteFile(filepath.Join(base, "goenv"), []byte("GOPROXY=https://s3cret@proxy.corp\n"), 0o600))
	require.True(t, hidden(filepath.Join(base, "goenv")))
}

// TestGoProxyWithoutCredentials tests that go's settings, which the environment is made of, bring no password with them.
func TestGoProxyWithoutCredentials(t *testing.T) {
	p, h := policy(t, Namespaces)
	config := put(t, filepath.Join(h.Home, ".config/go/env"))
	require.NoError(t, os.WriteFile(config, []byte("GOPROXY=https://u:s3cret@proxy.example\n"), 0o644))
	env := p.Environment(h)
	require.Equal(t, "https://proxy.example", lookup(env, "GOPROXY"))
	require.Empty(t, lookup(env, "GOENV"))
	h.Env = append(h.Env, "GOPROXY=https://u:s3cret@other.example,off")
	require.Equal(t, "https://other.example,off", lookup(p.Environment(h), "GOPROXY"))
}

func TestAccountHomes(t *testing.T) {
	t.Setenv("HOME", "/no/such/home")
	require.NotContains(t, AccountHomes(nil), "/no/such/home")
	root, err := user.Lookup("root")
	require.NoError(t, err)
	require.Contains(t, AccountHomes([]string{"SUDO_USER=root"}), root.HomeDir)
	require.Len(t, AccountHomes([]string{"SUDO_USER=nobody of that name"}), 1)
}

// BenchmarkGuards is what every opening of a sandbox waits for.
func BenchmarkGuards(b *testing.B) {
	home, err := os.UserHomeDir()
	require.NoError(b, err)
	ws := b.TempDir()
	for b.Loop() {
		Guards(Host{Home: home, Env: os.Environ()}, ws)
	}
}
