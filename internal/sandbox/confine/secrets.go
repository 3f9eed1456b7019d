// This file finds what commands must not read: credentials, histories, this product's own files, doors to other services.

package confine

import (
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sandboxagent/internal/helper/environ"
)

// secrets returns the existing paths that are to be hidden, links resolved, each once, none below another.
func (h Host) secrets() []string {
	var found []string
	for _, home := range h.homes() {
		found = append(found, entries(home, homeSecrets)...)
		found = append(found, entries(filepath.Join(home, ".config"), configSecrets)...)
		found = append(found, entries(filepath.Join(home, ".local", "share"), dataSecrets)...)
		for _, path := range entries(home, sometimesSecret) {
			if holdsCredentials(path) {
				found = append(found, path)
			}
		}
	}
	found = append(found, entries(lookup(h.Env, "XDG_CONFIG_HOME"), configSecrets)...)
	found = append(found, entries(lookup(h.Env, "XDG_DATA_HOME"), dataSecrets)...)
	found = append(found, entries(lookup(h.Env, "CARGO_HOME"), []string{"credentials.toml", "credentials"})...)
	for _, name := range secretVariables {
		found = append(found, filepath.SplitList(lookup(h.Env, name))...)
	}
	for _, path := range []string{lookup(h.Env, "GOENV"), "/etc/pip.conf"} {
		if holdsCredentials(path) {
			found = append(found, path)
		}
	}
	found = append(found, systemSecrets...)
	found = append(found, entries("/etc/ssh", []string{"ssh_host_*_key"})...)
	found = append(found, h.Private...)
	return outermost(existing(found))
}

// homes returns the directories that are homes of the user.
func (h Host) homes() []string {
	homes := existing(append([]string{h.Home}, h.Homes...)) // one may lie in another
	slices.Sort(homes)
	return slices.Compact(homes)
}

// AccountHomes returns the home directories that the system knows for the user, and for who became this user by sudo.
// $HOME may be another one.
func AccountHomes(env []string) (out []string) {
	if u, err := user.Current(); err == nil {
		out = append(out, u.HomeDir)
	}
	if name := lookup(env, "SUDO_USER"); name != "" {
		if u, err := user.Lookup(name); err == nil {
			out = append(out, u.HomeDir)
		}
	}
	return out
}

// entries returns what of the names is there in a directory. In a name's last part * stands for anything.
func entries(dir string, names []string) (out []string) {
	if _, err := os.Stat(dir); err != nil || !filepath.IsAbs(dir) {
		return nil
	}
	listed := map[string][]os.DirEntry{}
	for _, name := range names {
		if !strings.Contains(name, "*") {
			out = append(out, filepath.Join(dir, name))
			continue
		}
		in, pattern := filepath.Join(dir, filepath.Dir(name)), filepath.Base(name)
		if _, known := listed[in]; !known {
			listed[in], _ = os.ReadDir(in) // what cannot be listed cannot be found by commands either
		}
		for _, e := range listed[in] {
			if ok, _ := filepath.Match(pattern, e.Name()); ok {
				out = append(out, filepath.Join(in, e.Name()))
			}
		}
	}
	return out
}

// holdsCredentials reports whether an address in a file carries a password.
func holdsCredentials(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxGitConfig))
	return err == nil && environ.WithoutCredentials(string(b)) != string(b)
}

// existing resolves the links of paths and leaves out those that are not there, and "/".
func existing(paths []string) []string {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			continue
		}
		if _, err := os.Lstat(p); err != nil {
			continue // quicker than to resolve it
		}
		if real, err := filepath.EvalSymlinks(p); err == nil && real != "/" && real != os.DevNull {
			out = append(out, real)
		}
	}
	return out
}

// outermost sorts paths and leaves out those that lie in another one.
func outermost(paths []string) []string {
	paths = slices.Clone(paths)
	slices.SortFunc(paths, comparePaths)
	var out []string
	for _, p := range paths {
		if len(out) == 0 || !within(out[len(out)-1], p) {
			out = append(out, p)
		}
	}
	return out
}

// comparePaths orders paths so that a directory comes before what is in it, and directly before it.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// within reports whether path is dir or lies in it; both are clean.
func within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

func lookup(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			return v
		}
	}
	return ""
}
