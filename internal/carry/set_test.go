// This file tests what travels and what does not, by tables.

package carry

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// memory is a tree in memory.
type memory map[tree.Hash][]byte

func (m memory) ReadDir(h tree.Hash) ([]tree.Entry, error) { return tree.DecodeDir(m[h]) }

func (m memory) ReadFile(e *tree.Entry, n int) ([]byte, error) {
	b := m[e.Hash]
	return b[:min(n, len(b))], nil
}

func (m memory) put(b []byte) tree.Hash {
	h := tree.Sum(b)
	m[h] = b
	return h
}

// add makes the object of a directory of paths, of which one that ends with "/" is a directory.
func (m memory) add(files map[string]string) tree.Hash {
	below := map[string]map[string]string{}
	var entries []tree.Entry
	for name, text := range files {
		first, rest, nested := strings.Cut(name, "/")
		if !nested {
			entries = append(entries, tree.Entry{Name: name, Kind: tree.File, Mode: 0o644, Size: int64(len(text)), Hash: m.put([]byte(text))})
			continue
		}
		if below[first] == nil {
			below[first] = map[string]string{}
		}
		if rest != "" {
			below[first][rest] = text
		}
	}
	for name, files := range below {
		entries = append(entries, tree.Entry{Name: name, Kind: tree.Dir, Mode: 0o755, Hash: m.add(files)})
	}
	slices.SortFunc(entries, func(a, b tree.Entry) int { return strings.Compare(a.Name, b.Name) })
	return m.put(tree.EncodeDir(entries))
}

func left(t *testing.T, r Rules, files map[string]string) (map[string]string, *Set) {
	t.Helper()
	m := memory{}
	set, err := r.Apply(context.Background(), m, m.add(files))
	require.NoError(t, err)
	out := map[string]string{}
	for _, l := range set.Left {
		out[l.Path] = l.Reason
		require.Equal(t, l.Reason, set.Drop(l.Path, nil))
	}
	return out, set
}

const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA\n"

func TestWhatTravels(t *testing.T) {
	everything := map[string]string{
		".env": "S=1", "main.go": "package main", "id_rsa": key, "node_modules/m/index.js": "x", ".gitignore": "node_modules/\n", ".git/HEAD": "ref",
	}
	for name, c := range map[string]struct {
		rules Rules
		files map[string]string
		left  map[string]string
	}{
		"all of it on this machine":   {Rules{}, everything, map[string]string{}},
		"what the user excludes":      {Rules{Exclude: []string{"node_modules", "/id_rsa"}}, everything, map[string]string{"node_modules": reasonExcluded, "id_rsa": reasonExcluded}},
		"what git ignores, elsewhere": {Rules{Leaves: true}, everything, map[string]string{".env": reasonSecrets, "id_rsa": reasonKey, "node_modules": reasonIgnored}},
		"what is brought back": {
			Rules{Leaves: true, Include: []string{".env", "node_modules/m/*.js"}}, everything, map[string]string{"id_rsa": reasonKey},
		},
		"exclude goes before include": {
			Rules{Leaves: true, Exclude: []string{".env"}, Include: []string{".env", "id_rsa", "node_modules"}}, everything, map[string]string{".env": reasonExcluded},
		},
		"examples of secrets": {
			Rules{Leaves: true},
			map[string]string{
				".env.example": "", ".env.sample": "", ".env.template": "", ".env.production": "", ".envrc": "", ".ENV": "", "d/.env.local": "", "env": "",
				".env.d/": "", "id_rsa.pub": "ssh-rsa", "id_ed25519.pub": "",
			},
			map[string]string{".env.production": reasonSecrets, ".envrc": reasonSecrets, ".ENV": reasonSecrets, "d/.env.local": reasonSecrets},
		},
		"keys by name": {
			Rules{Leaves: true},
			map[string]string{
				"a/id_rsa": "", "id_rsa.old": "", "id_ed25519": "", "tls/server.PEM": "", "server.key": "", "x.p12": "", "x.pfx": "", "x.jks": "", "x.kdbx": "",
				".npmrc": "", ".pypirc": "", ".netrc": "", ".aws/credentials": "", "service-account-prod.json": "", ".docker/config.json": "", "config.json": "",
				"keyboard.go": "", "pem.go": "", "credentials.go": "",
			},
			map[string]string{
				"a/id_rsa": reasonKey, "id_rsa.old": reasonKey, "id_ed25519": reasonKey, "tls/server.PEM": reasonKey, "server.key": reasonKey, "x.p12": reasonKey,
				"x.pfx": reasonKey, "x.jks": reasonKey, "x.kdbx": reasonKey, ".npmrc": reasonSecrets, ".pypirc": reasonSecrets, ".netrc": reasonSecrets,
				".aws/credentials": reasonSecrets, "service-account-prod.json": reasonSecrets, ".docker/config.json": reasonSecrets,
			},
		},
		"keys by their first bytes": {
			Rules{Leaves: true},
			map[string]string{
				"deploy": key, "rsa": "\n-----BEGIN RSA PRIVATE KEY-----\n", "pkcs8": "-----BEGIN PRIVATE KEY-----", "enc": "-----BEGIN ENCRYPTED PRIVATE KEY-----",
				"gpg": "-----BEGIN PGP PRIVATE KEY BLOCK-----", "putty": "PuTTY-User-Key-File-3: ssh-rsa", "cert": "-----BEGIN CERTIFICATE-----", "about": "A " + key,
				"public": "-----BEGIN PUBLIC KEY-----", "large": key + strings.Repeat("x", maxKey), "empty": "",
			},
			map[string]string{"deploy": reasonKey, "rsa": reasonKey, "pkcs8": reasonKey, "enc": reasonKey, "gpg": reasonKey, "putty": reasonKey},
		},
		"ignored at several levels": {
			Rules{Leaves: true},
			map[string]string{
				".gitignore": "*.log\n/build\n", "a.log": "", "build/x": "", "src/build/x": "", "src/.gitignore": "!keep.log\ntmp/\n", "src/keep.log": "",
				"src/b.log": "", "src/tmp/a": "", "src/tmp/b/c": "", "empty/": "", ".git/info/exclude": "private\n", "private": "", "src/private/x": "",
			},
			map[string]string{
				"a.log": reasonIgnored, "build": reasonIgnored, "src/b.log": reasonIgnored, "src/tmp": reasonIgnored, "private": reasonIgnored, "src/private": reasonIgnored,
			},
		},
		"without any repository": {Rules{Leaves: true}, map[string]string{".gitignore": "x\n", "x": "", "y": ""}, map[string]string{"x": reasonIgnored}},
		"another repository in it has its own rules": {
			Rules{Leaves: true},
			map[string]string{".gitignore": "*.o\n", "a.o": "", "sub/.git/HEAD": "", "sub/a.o": "", "sub/.gitignore": "*.p\n", "sub/b.p": ""},
			map[string]string{"a.o": reasonIgnored, "sub/b.p": reasonIgnored},
		},
		"another repository that this one ignores": {
			Rules{Leaves: true},
			map[string]string{".gitignore": "vendor/\n", "vendor/x/.git/HEAD": "", "vendor/x/.git/objects/ab/c": "", "vendor/x/f": "", "vendor/x/.gitignore": "!f\n"},
			map[string]string{"vendor": reasonIgnored},
		},
		"git's own files": {
			Rules{Leaves: true},
			map[string]string{
				".gitignore": "HEAD\nobjects/\n*\n", ".git/HEAD": "", ".git/objects/ab/c": "", ".git/refs/heads/fix.key": "", ".git/config": "[remote \"o\"]\n\turl = https://u:hidden@example.com/x\n",
				"sub/.git/config": "[remote \"o\"]\n\turl = git@example.com:x\n", "sub/f": "",
			},
			map[string]string{".git/config": reasonPassword, ".gitignore": reasonIgnored, "sub": reasonIgnored},
		},
		"a header with a token": {
			Rules{Leaves: true}, map[string]string{".git/config": "[http \"https://x/\"]\n\textraHeader = AUTHORIZATION: hidden\n"}, map[string]string{".git/config": reasonPassword},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, set := left(t, c.rules, c.files)
			require.Equal(t, c.left, got)
			require.Empty(t, set.Notes)
		})
	}
}

func TestLeaves(t *testing.T) {
	for kind, leaves := range map[sandbox.Kind]bool{sandbox.KindLocal: false, sandbox.KindDocker: false, sandbox.KindE2B: true, sandbox.KindDaytona: true} {
		require.Equal(t, leaves, Leaves(kind), kind)
	}
}

// What git tracks travels though it ignores it.
func TestTrackedFilesTravel(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for name, text := range map[string]string{"dist/tracked.js": "x", "dist/other.js": "y", "a.log": "z", "b.log": "z", ".gitignore": "dist/\n*.log\n"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	git("init", "-q")
	git("add", "--force", ".gitignore", "dist/tracked.js", "a.log")
	want := map[string]string{"dist/other.js": reasonIgnored, "b.log": reasonIgnored}
	for _, version := range []string{"2", "4", "split"} {
		if version == "split" {
			git("update-index", "--split-index")
		} else {
			git("update-index", "--index-version", version)
		}
		files := map[string]string{}
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				rel, err := filepath.Rel(dir, path)
				require.NoError(t, err)
				files[rel] = string(b)
			}
			return err
		}))
		got, set := left(t, Rules{Leaves: true}, files)
		if version == "split" {
			require.Equal(t, map[string]string{"dist": reasonIgnored, "a.log": reasonIgnored, "b.log": reasonIgnored}, got)
			require.Len(t, set.Notes, 1)
			continue
		}
		require.Equal(t, want, got, version)
		require.Empty(t, set.Notes)

		sub := map[string]string{"sub/.git": "gitdir: ../.git/modules/sub\n"}
		for name, text := range files {
			if rest, ok := strings.CutPrefix(name, ".git/"); ok {
				sub[".git/modules/sub/"+rest] = text
			} else {
				sub["sub/"+name] = text
			}
		}
		got, _ = left(t, Rules{Leaves: true}, sub)
		require.Equal(t, map[string]string{"sub/dist/other.js": reasonIgnored, "sub/b.log": reasonIgnored}, got, "of a submodule")
	}
}

func TestPasswordsInSettingsThatAreTooLargeToTell(t *testing.T) {
	got, _ := left(t, Rules{Leaves: true}, map[string]string{".git/config": strings.Repeat("#\n", maxConfig)})
	require.Equal(t, map[string]string{".git/config": reasonPassword}, got)
}
