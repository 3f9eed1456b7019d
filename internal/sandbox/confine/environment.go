// This file decides what the confined see of the environment: a home, caches and temporary files of their own.

package confine

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxagent/internal/helper/environ"
)

// ours are variables that point to where only the user may write; without them tools use the home directory they get.
var ours = []string{
	"HOME", "TMPDIR", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOPROXY", "CARGO_HOME", "GRADLE_USER_HOME", "UV_CACHE_DIR",
	"COREPACK_HOME", "DENO_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_SESSION_ID",
}

// Environment returns the environment of a confined helper, from which its commands inherit.
func (p Policy) Environment(h Host) []string {
	env := slices.DeleteFunc(environ.Inherit(h.Env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(ours, name)
	})
	_, home, temp := p.inside()
	env = append(env, "HOME="+home, "TMPDIR="+temp)
	env = append(env, goEnvironment(h)...)
	if lookup(env, "RUSTUP_HOME") == "" { // a rustup in PATH finds its toolchains by it
		env = append(env, ifThere("RUSTUP_HOME", filepath.Join(h.Home, ".rustup"))...)
	}
	return env
}

// goEnvironment lets go take modules from the user's cache, which is read-only here, before it asks the network.
func goEnvironment(h Host) []string {
	config := lookup(h.Env, "GOENV")
	if config == "" {
		config = filepath.Join(h.Home, ".config", "go", "env")
	}
	proxy := lookup(h.Env, "GOPROXY")
	if proxy == "" {
		proxy = fromFile(config, "GOPROXY")
	}
	if proxy == "" {
		proxy = fromFile(filepath.Join(goRoot(h), "go.env"), "GOPROXY") // where Go keeps its own default
	}
	if proxy == "" {
		proxy = "direct"
	}
	proxy = environ.WithoutCredentials(proxy)
	var env []string
	if !holdsCredentials(config) {
		env = ifThere("GOENV", config)
	}
	cache := filepath.Join(moduleCache(h), "cache", "download")
	if _, err := os.Stat(cache); err == nil && proxy != "off" {
		proxy = (&url.URL{Scheme: "file", Path: cache}).String() + "," + proxy
	}
	return append(env, "GOPROXY="+proxy)
}

// goRoot is where the Go toolchain that commands find in PATH lies, "" when there is none.
func goRoot(h Host) string {
	if dir := lookup(h.Env, "GOROOT"); dir != "" {
		return dir
	}
	for _, dir := range filepath.SplitList(lookup(h.Env, "PATH")) {
		if program, err := filepath.EvalSymlinks(filepath.Join(dir, "go")); err == nil {
			return filepath.Dir(filepath.Dir(program))
		}
	}
	return ""
}

func moduleCache(h Host) string {
	if dir := lookup(h.Env, "GOMODCACHE"); dir != "" {
		return dir
	}
	if dirs := filepath.SplitList(lookup(h.Env, "GOPATH")); len(dirs) > 0 {
		return filepath.Join(dirs[0], "pkg", "mod")
	}
	return filepath.Join(h.Home, "go", "pkg", "mod")
}

func ifThere(name, path string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []string{name + "=" + path}
}

// fromFile returns the value of a NAME=value line.
func fromFile(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return lookup(strings.Split(strings.TrimSpace(string(b)), "\n"), name)
}
