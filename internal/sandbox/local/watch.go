// This file tells, with the output of a command, when what git would execute in the workspace has changed: commands can
// change more of it than can be kept from them, and the user is to know before git runs it.

package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

const (
	obeyedFile = "obeyed.json" // in the state directory of a sandbox: what git obeyed when it was looked at last
	notesDir   = "notes"       // there: what was added to the output of commands
	mostNamed  = 6
	refusalEnd = 4 << 10 // bytes of output in which a refusal is looked for
)

// refusedToGit is how git says that it cannot write what is kept from it.
var refusedToGit = regexp.MustCompile(`(?m)^(error|fatal|warning): .*(config|hooks).*(Device or resource busy|Read-only file system)`)

const refusalNote = "The settings and hooks of this repository are read-only to commands, as git runs what they say: ask the user to " +
	"run such git commands (config, remote, submodule init, branch --set-upstream-to) themselves. All else in git works."

// watch knows what git obeyed in a workspace when the last command ended. Where several look at one sandbox, a change may be
// told by each; it is never told by none.
type watch struct {
	workspace string
	state     string // directory of the sandbox

	mu    sync.Mutex
	notes map[string]*note // by command; nil: it ended without one
}

// note is text that was added to a stream of a command where that stood when the command had ended.
type note struct {
	Stream sandbox.Stream `json:"stream"`
	At     int64          `json:"at"`
	Text   string         `json:"text"`
}

// begin remembers what git obeys before the first command. Where another session was in the folder, that is what git obeyed
// when its last command had ended: what its processes changed after that, nobody has been told yet.
func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	path := filepath.Join(w.state, obeyedFile)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	start, known := w.seenLast()
	if !known {
		start = confine.ObeyedIn(w.workspace)
	}
	_ = writeJSON(path, start)
}

// seenLast returns the latest picture that any sandbox of the folder has.
func (w *watch) seenLast() (last confine.Obeyed, known bool) {
	var at time.Time
	stateDir := filepath.Dir(w.state)
	entries, err := os.ReadDir(stateDir)
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		path := filepath.Join(stateDir, e.Name(), obeyedFile)
		info, err := os.Lstat(path)
		if err != nil || !info.ModTime().After(at) {
			continue
		}
		if r, err := readRecorded(filepath.Dir(path)); err != nil || r.Workspace != filepath.Clean(w.workspace) {
			continue
		}
		if picture, err := readObeyed(path); err == nil {
			last, known, at = picture, true, info.ModTime()
		}
	}
	return last, known
}

func readObeyed(path string) (confine.Obeyed, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o := confine.Obeyed{}
	return o, json.Unmarshal(b, &o)
}

// ended returns the note of a command that has ended, nil for none: the same whenever it is asked.
func (w *watch) ended(ctx context.Context, c *client.Client, st sandbox.Status) *note {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, known := w.notes[st.ID]; known {
		return n
	}
	n := w.recall(st.ID)
	if n == nil {
		n = w.write(ctx, c, st)
	}
	w.notes[st.ID] = n
	return n
}

// known returns the note of a command, if it was written before.
func (w *watch) known(id string) *note {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, looked := w.notes[id]; !looked {
		if n := w.recall(id); n != nil {
			w.notes[id] = n
		}
	}
	return w.notes[id]
}

func (w *watch) notePath(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(w.state, notesDir, hex.EncodeToString(sum[:12])+".json")
}

func (w *watch) recall(id string) *note {
	var n note
	b, err := os.ReadFile(w.notePath(id))
	if err != nil || json.Unmarshal(b, &n) != nil {
		return nil
	}
	return &n
}

// write makes the note of a command, if there is something to be said, and only then takes what is as known.
func (w *watch) write(ctx context.Context, c *client.Client, st sandbox.Status) *note {
	var said []string
	now := confine.ObeyedIn(w.workspace)
	path := filepath.Join(w.state, obeyedFile)
	before, err := readObeyed(path)
	if err != nil {
		before = now // nobody knows what was
	}
	if names := now.Since(before); len(names) > 0 {
		said = append(said, changeNote(names))
	}
	if refused(ctx, c, st) {
		said = append(said, refusalNote)
	}
	if len(said) == 0 {
		return nil
	}
	n := &note{Stream: sandbox.Stderr, At: st.Total.Stderr, Text: "[sandbox] " + strings.Join(said, "\n[sandbox] ") + "\n"}
	if st.TTY {
		n.Stream, n.At = sandbox.Stdout, st.Total.Stdout
	}
	if err := os.Mkdir(filepath.Dir(w.notePath(st.ID)), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil
	}
	if writeJSON(w.notePath(st.ID), n) != nil || writeJSON(path, now) != nil {
		return nil // it is told with the next command
	}
	return n
}

func changeNote(names []string) string {
	shown := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return "What git runs or obeys in this folder has changed: " + shown + ". Tell the user: unless they know about it, they should look at it " +
		"before they or their editor use git here, as it runs with all their rights."
}

// refused reports whether git could not write what is kept from it.
func refused(ctx context.Context, c *client.Client, st sandbox.Status) bool {
	ends := map[sandbox.Stream]int64{sandbox.Stderr: st.Total.Stderr}
	if st.ExitCode != 0 {
		ends[sandbox.Stdout] = st.Total.Stdout
	}
	for stream, end := range ends {
		if end == 0 {
			continue
		}
		chunk, err := c.Output(ctx, st.ID, stream, max(0, end-refusalEnd), refusalEnd)
		if err == nil && refusedToGit.Match(chunk.Data) {
			return true
		}
	}
	return false
}

// writeJSON replaces a file of the state directory.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
