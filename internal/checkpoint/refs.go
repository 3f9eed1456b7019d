// This file keeps refs: what a checkpoint was taken for, which keeps it from being collected.

package checkpoint

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// Ref ties a checkpoint to what it was taken for. Refs of one session, or of one folder where there is no session, are
// listed together.
type Ref struct {
	Checkpoint string    `json:"checkpoint"`
	Owner      string    `json:"owner,omitempty"`
	Session    string    `json:"session,omitempty"`
	Folder     string    `json:"folder,omitempty"` // absolute path; counts when there is no Session
	Realm      string    `json:"realm,omitempty"`  // where the session is known; "": nobody has told
	Turn       int       `json:"turn,omitempty"`
	Item       string    `json:"item,omitempty"`
	Reason     Reason    `json:"reason,omitempty"`
	Effect     string    `json:"effect,omitempty"` // id of the restore that it undoes
	To         string    `json:"to,omitempty"`     // of Undo, once that is done: the checkpoint that was restored
	Paths      []string  `json:"paths,omitempty"`  // of Undo: what of it; none: all
	After      string    `json:"after,omitempty"`  // of Undo: checkpoint of what the restore or merge left; kept as long as the ref is
	Lacks      string    `json:"lacks,omitempty"`  // checkpoint that notes what did not travel to where this one was taken; kept as long as the ref is
	Summary    string    `json:"summary,omitempty"`
	At         time.Time `json:"at"`
}

// Reason says why a checkpoint was taken.
type Reason string

// The reasons.
const (
	Requested Reason = "requested" // by the user
	Turn      Reason = "turn"      // by the agent's work
	Undo      Reason = "undo"      // before a restore
	Carry     Reason = "carry"     // it came from, or goes to, another sandbox of the session
	Fork      Reason = "fork"      // the session began with it
)

const opRef = "refer to a checkpoint"

func (r *Ref) scope() string {
	if r.Session != "" {
		return "session/" + r.Session
	}
	return "folder/" + r.Folder
}

func (s *Store) scopeDir(r *Ref) string {
	return filepath.Join(s.opts.Dir, refsDir, digest(r.scope()))
}

func (s *Store) refPath(r *Ref) string {
	name := fmt.Sprintf("%s/%d/%s/%s/%s", r.Checkpoint, r.Turn, r.Item, r.Reason, r.Effect)
	return filepath.Join(s.scopeDir(r), digest(name)+".json")
}

func digest(s string) string {
	h := tree.Sum([]byte(s))
	return hex.EncodeToString(h[:16])
}

// Pin refers to a checkpoint. Repeating it changes nothing; a zero At is now. A checkpoint that may be collected must be
// pinned by Take.
func (s *Store) Pin(r Ref) error {
	if r.Session == "" && r.Folder == "" {
		return sandbox.Errorf(sandbox.ClassInvalid, opRef, "a ref belongs to a session or a folder")
	}
	if _, err := s.manifest(r.Checkpoint); err != nil {
		return err
	}
	if _, err := os.Stat(s.refPath(&r)); err == nil {
		return nil
	}
	return s.repin(r)
}

// repin writes a ref, also over one of the same name that tells less.
func (s *Store) repin(r Ref) error {
	if r.At.IsZero() {
		r.At = time.Now()
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode ref: %w", err)
	}
	path := s.refPath(&r)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return classed(opRef, err)
	}
	return classed(opRef, s.writeFile(path, b, "ref"))
}

// Unpin takes a ref back; one that is not there is no error.
func (s *Store) Unpin(r Ref) error {
	err := os.Remove(s.refPath(&r))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return classed(opRef, err)
}

// Release takes all refs of a session or folder back.
func (s *Store) Release(session, folder string) error {
	return classed(opRef, os.RemoveAll(s.scopeDir(&Ref{Session: session, Folder: folder})))
}

// List lists the refs of a session, or of a folder when session is "", oldest first. Damaged ones are left out.
func (s *Store) List(session, folder string) ([]Ref, error) {
	refs, _, err := readRefs(s.scopeDir(&Ref{Session: session, Folder: folder}))
	return refs, classed(opRef, err)
}

// readRefs also returns how many refs cannot be read.
func readRefs(dir string) (refs []Ref, unreadable int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		var r Ref
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || json.Unmarshal(b, &r) != nil {
			unreadable++
			continue
		}
		refs = append(refs, r)
	}
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Checkpoint, b.Checkpoint)) })
	return refs, unreadable, nil
}

// Holder is a session that checkpoints are kept for.
type Holder struct {
	Session string
	Realm   string    // where it is known; "" when its refs do not tell, or not the same
	Newest  time.Time // of its refs
}

// Holders lists the sessions that checkpoints are kept for, sorted.
func (s *Store) Holders() ([]Holder, error) {
	refs, err := s.allRefs()
	if err != nil {
		return nil, classed(opRef, err)
	}
	bySession, mixed := map[string]Holder{}, map[string]bool{}
	for _, r := range refs {
		h, known := bySession[r.Session]
		mixed[r.Session] = mixed[r.Session] || known && h.Realm != "" && r.Realm != "" && h.Realm != r.Realm
		h.Session, h.Realm = r.Session, cmp.Or(r.Realm, h.Realm)
		if r.At.After(h.Newest) {
			h.Newest = r.At
		}
		bySession[r.Session] = h
	}
	var all []Holder
	for session, h := range bySession {
		if mixed[session] {
			h.Realm = ""
		}
		if session != "" {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b Holder) int { return strings.Compare(a.Session, b.Session) })
	return all, nil
}

// allRefs returns the refs of everybody. It fails when one cannot be read: what it refers to must not be collected.
func (s *Store) allRefs() ([]Ref, error) {
	scopes, err := os.ReadDir(filepath.Join(s.opts.Dir, refsDir))
	if err != nil {
		return nil, err
	}
	var all []Ref
	for _, d := range scopes {
		refs, unreadable, err := readRefs(filepath.Join(s.opts.Dir, refsDir, d.Name()))
		if err != nil {
			return nil, err
		}
		if unreadable > 0 {
			return nil, sandbox.Errorf(sandbox.ClassCorrupt, opCollect, "%d refs to checkpoints cannot be read; nothing is collected", unreadable)
		}
		all = append(all, refs...)
	}
	return all, nil
}
