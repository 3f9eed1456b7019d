// Package environ decides what a command sees of the environment: a short list of harmless names, never a secret, and
// settings that keep interactive programs from waiting for a person. The same rules hold on every backend.
package environ

import (
	"slices"
	"strings"
)

// DefaultPath is used when the helper has no PATH of its own.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

var allowed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"GOPATH", "GOROOT", "GOBIN", "GOFLAGS", "GOENV", "GOPROXY", "GONOPROXY", "GONOSUMDB", "GOPRIVATE", "GOSUMDB",
	"GOTOOLCHAIN", "GOCACHE", "GOMODCACHE", "GOOS", "GOARCH", "GOEXPERIMENT", "CGO_ENABLED",
	"CC", "CXX", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "ANDROID_HOME",
	"NVM_DIR", "NVM_BIN", "NODE_PATH", "NODE_ENV", "NODE_EXTRA_CA_CERTS", "COREPACK_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "VOLTA_HOME",
	"PYENV_ROOT", "PYENV_VERSION", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "POETRY_HOME", "UV_CACHE_DIR",
	"RBENV_ROOT", "GEM_HOME", "GEM_PATH", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "SDKMAN_DIR",
	"NIX_PATH", "NIX_PROFILES", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NIX_SSL_CERT_FILE", "GIT_SSL_CAINFO", "PIP_INDEX_URL", "PIP_CERT",
}

var allowedPrefixes = []string{"LC_", "XDG_"}

var (
	secretPrefixes = []string{"AWS_", "AZURE_", "GOOGLE_", "OPENAI_", "ANTHROPIC_", "E2B_", "DAYTONA_", "TEMPORAL_"}
	secretParts    = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}
)

// Inherit filters the NAME=value pairs of a process's own environment down to those that a sandbox may see, without the
// credentials in addresses.
func Inherit(env []string) []string {
	var out []string
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || !mayInherit(name) {
			continue
		}
		if value, ok = harmless(name, value); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

func mayInherit(name string) bool {
	if Secret(name) {
		return false
	}
	if slices.Contains(allowed, name) {
		return true
	}
	return slices.ContainsFunc(allowedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Secret reports whether a variable of that name looks like one that holds a secret.
func Secret(name string) bool {
	upper := strings.ToUpper(name)
	if slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) }) {
		return true
	}
	return slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(upper, p) })
}

// quiet keeps programs from paging, prompting or opening an editor. An editor that leaves the text as it is ("true")
// makes git take its proposal or give up, at once either way.
var quiet = []string{
	"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat",
	"EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
	"GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "DEBIAN_FRONTEND=noninteractive",
	"PIP_NO_INPUT=1", "npm_config_yes=true", "npm_config_update_notifier=false",
}

// Command returns the environment of a command: what own may pass on, the settings that keep programs from waiting for
// a person, a TERM that fits, and last, so that it counts, extra.
func Command(own, extra []string, dir string, tty bool) []string {
	env := append([]string{"PATH=" + DefaultPath}, Inherit(own)...)
	env = append(env, quiet...)
	term := "dumb"
	if tty {
		term = "xterm-256color"
	}
	env = append(env, "TERM="+term, "PWD="+dir)
	return unique(append(env, extra...))
}

// Lookup returns the value of name in env, the last one given.
func Lookup(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			return v
		}
	}
	return ""
}

// unique keeps the last pair of every name, in order.
func unique(env []string) []string {
	last := make(map[string]int, len(env))
	for i, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		last[name] = i
	}
	out := env[:0]
	for i, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if last[name] == i {
			out = append(out, pair)
		}
	}
	return out
}
