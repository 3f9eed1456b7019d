// This file makes, finds and removes the folders that forks work in.

package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Forks is where forks that run locally have folders of their own, as <Dir>/<session>/<name of the folder>. Everything below
// Dir was made here, and nothing else is ever removed.
type Forks struct {
	Dir string // absolute
}

// Fork says whose a folder is.
type Fork struct {
	Session string    `json:"session"`
	Owner   string    `json:"owner,omitempty"`
	HostID  string    `json:"hostId,omitempty"`
	Realm   string    `json:"realm,omitempty"` // as that of a sandbox
	Made    time.Time `json:"-"`
}

// forkFile tells whose a folder is. It lies beside the folder.
const forkFile = ".sandbox-agent-fork.json"

// Of returns the session whose folder dir is by its place, and whether it is one.
func (f Forks) Of(dir string) (session string, ok bool) {
	rel, err := filepath.Rel(f.Dir, dir)
	session, name, nested := strings.Cut(rel, "/")
	ok = err == nil && f.Dir != "" && nested && name != forkFile && !strings.Contains(name, "/") && isName(session) && isName(name)
	return session, ok
}

func isName(s string) bool { return s != "" && s != "." && s != ".." && !strings.Contains(s, "/") }

// Make makes the folder dir, which is the fork's by its place. One that is there stays as it is.
func (f Forks) Make(dir string, fork Fork) error {
	session, ok := f.Of(dir)
	if !ok || session != fork.Session {
		return fmt.Errorf("%s is no folder for a fork %s", dir, fork.Session)
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of forks: %w", err)
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return fmt.Errorf("open the directory of forks: %w", err)
	}
	defer root.Close()
	text, err := json.Marshal(fork)
	if err != nil {
		return fmt.Errorf("encode whose a fork is: %w", err)
	}
	// whose it is comes first: what nobody can tell the owner of is never removed
	if err := root.MkdirAll(session, 0o700); err != nil {
		return fmt.Errorf("make the directory of a fork: %w", err)
	}
	if err := root.WriteFile(filepath.Join(session, forkFile), text, 0o600); err != nil {
		return fmt.Errorf("write whose a fork is: %w", err)
	}
	if err := root.Mkdir(filepath.Join(session, filepath.Base(dir)), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder of a fork: %w", err)
	}
	return nil
}

// Remove removes all that belongs to a fork, also what is protected from being written. Links are removed, never followed.
// What is not there is removed.
func (f Forks) Remove(session string) error {
	if f.Dir == "" || !isName(session) {
		return nil
	}
	root, err := os.OpenRoot(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the directory of forks: %w", err)
	}
	defer root.Close()
	if err := root.RemoveAll(session); err == nil {
		return nil
	}
	allowRemoval(root, session)
	if err := root.RemoveAll(session); err != nil {
		return fmt.Errorf("remove the folder of a fork: %w", err)
	}
	return nil
}

// allowRemoval gives the user the rights on directories below dir that removing them takes.
func allowRemoval(root *os.Root, dir string) {
	if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
		return
	}
	_ = root.Chmod(dir, 0o700)
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			allowRemoval(root, filepath.Join(dir, e.Name()))
		}
	}
}

// List tells what there is, by session. Of what does not say whose it is, only the session is known.
func (f Forks) List() ([]Fork, error) {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) || f.Dir == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the directory of forks: %w", err)
	}
	var all []Fork
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(f.Dir, e.Name(), forkFile)
		var fork Fork
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &fork) != nil || fork.Session != e.Name() {
			fork = Fork{Session: e.Name()}
		} else if info, err := os.Lstat(path); err == nil {
			fork.Made = info.ModTime()
		}
		all = append(all, fork)
	}
	slices.SortFunc(all, func(a, b Fork) int { return strings.Compare(a.Session, b.Session) })
	return all, nil
}
