// This file lets a user and an agent work at random, with carries, forks, restores and failures in between, and holds every
// tree to a simple model of it.

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/merge"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

// files are what a folder holds, by path. Paths are such that none is a directory of another.
type files map[string]string

const kept = "secret" // is never carried

var places = []string{"a", "b", "c", "d/e/z", "d/x", "d/y", kept}

// happened is something that tells what the user has seen last.
type happened struct {
	turn    files  // after a turn; nil: a restore or a merge
	to      string // checkpoint that was restored; "": a merge
	toFiles files
	undo    string // checkpoint before it
	after   files  // what it left
}

type world struct {
	t      *testing.T
	r      *rand.Rand
	s      *Store
	dir    string // of the user
	here   files  // what dir holds
	forks  []*branchOff
	events []happened
	known  map[string]files // checkpoints of the session that can be restored
	n      int              // tokens and effects so far
}

// branchOff is another workspace: a sandbox that the session moved to, or a fork.
type branchOff struct {
	dir       string
	files     files
	base      string
	baseFiles files
	leftOut   bool // something was kept
}

var errInjected = errors.New("injected")

// fastDir is a directory in memory, where there is such a thing: this does very much that is made durable.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "checkpoint")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (w *world) id(kind string) string {
	w.n++
	return fmt.Sprintf("%s%d", kind, w.n)
}

// edit changes one file of a folder, with lines that are nobody else's.
func (w *world) edit(dir string, in files, who string) {
	at := places[w.r.IntN(len(places))]
	lines := slices.Collect(strings.Lines(in[at]))
	switch w.r.IntN(6) {
	case 0:
		delete(in, at)
		require.NoError(w.t, os.RemoveAll(filepath.Join(dir, at)))
		return
	case 1:
		lines = nil
		for range 12 {
			lines = append(lines, w.id(who)+"\n")
		}
	default:
		for range 1 + w.r.IntN(2) {
			i := w.r.IntN(len(lines) + 1)
			end := min(len(lines), i+w.r.IntN(2))
			lines = slices.Concat(lines[:i], []string{w.id(who) + "\n"}, lines[end:])
		}
	}
	in[at] = strings.Join(lines, "")
	write(w.t, dir, at, in[at])
}

// onDisk reads a folder.
func onDisk(t *testing.T, dir string) files {
	t.Helper()
	out := files{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	}))
	return out
}

// stored reads a checkpoint.
func (w *world) stored(id string) files {
	w.t.Helper()
	info, err := w.s.Stat(id)
	require.NoError(w.t, err)
	out := files{}
	require.NoError(w.t, w.s.walk(context.Background(), info.Root, "", func(path string, e *tree.Entry) error {
		if e.Kind != tree.File {
			return nil
		}
		b, err := w.s.whole(e)
		out[path] = string(b)
		return err
	}))
	return out
}

// joined is the model of a merge.
func joined(b, o, t files, on OnConflict) (out files, conflicts []string) {
	out = maps.Clone(o)
	for _, at := range places {
		base, inBase := b[at]
		ours, inOurs := o[at]
		theirs, inTheirs := t[at]
		same := func(x string, inX bool, y string, inY bool) bool { return inX == inY && x == y }
		switch {
		case same(base, inBase, theirs, inTheirs), same(ours, inOurs, theirs, inTheirs):
			continue
		case same(ours, inOurs, base, inBase):
		case inBase && inOurs && inTheirs:
			if text, ok := merge.Texts([]byte(base), []byte(ours), []byte(theirs)); ok {
				out[at] = string(text)
				continue
			}
			fallthrough
		default:
			conflicts = append(conflicts, at)
			if on != Theirs {
				continue
			}
		}
		if out[at] = theirs; !inTheirs {
			delete(out, at)
		}
	}
	return out, conflicts
}

// base is the model of what the user saw last, for a restore; nil when that is what is there.
func base(events []happened, to string) files {
	if n := len(events); n > 0 && events[n-1].turn == nil && events[n-1].undo == to && events[n-1].after != nil {
		return events[n-1].after
	}
	return sight(events)
}

func sight(events []happened) files {
	if len(events) == 0 {
		return nil
	}
	last := events[len(events)-1]
	switch {
	case last.turn != nil:
		return last.turn
	case last.to == "":
		return last.after
	}
	for i, e := range slices.Backward(events[:len(events)-1]) {
		if e.turn == nil && e.undo == last.to {
			return sight(events[:i])
		}
	}
	return last.toFiles
}

// attempt does something that may fail at any step, in a process that then starts anew, until it is done.
func (w *world) attempt(do func(s *Store) error) {
	w.t.Helper()
	if w.r.IntN(3) == 0 {
		at, step := 1+w.r.IntN(40), 0
		faulty, err := Open(Options{Dir: w.s.opts.Dir, Reserve: -1, Fault: func(string) error {
			if step++; step == at {
				return errInjected
			}
			return nil
		}})
		require.NoError(w.t, err)
		err = do(faulty)
		w.s = openStore(w.t, w.s.opts.Dir)
		if err != nil && sandbox.ClassOf(err) != sandbox.ClassUnknown {
			require.Equal(w.t, w.here, onDisk(w.t, w.dir), "nothing was done: %v", err)
		}
	}
	require.NoError(w.t, do(w.s))
}

func (w *world) pin() *Ref { return &Ref{Session: "s", At: time.Now()} }

// took says what a merge or restore must have done: the files as predicted, nothing of the user's gone that was not
// decided against, all of it in the undo checkpoint.
func (w *world) took(base, want files, undo string, on OnConflict) {
	w.t.Helper()
	now := onDisk(w.t, w.dir)
	require.Equal(w.t, want, now)
	require.Equal(w.t, w.here, w.stored(undo), "can be undone")
	for at, text := range w.here {
		for line := range strings.Lines(text) {
			if on != Theirs && strings.HasPrefix(line, "user") && !strings.Contains(base[at], line) {
				require.Contains(w.t, now[at], line, "the user's line is gone from %s", at)
			}
		}
	}
	w.here, w.known[undo] = now, maps.Clone(w.here)
}

// endTurn pictures the user's folder after the agent worked on it.
func (w *world) endTurn() {
	w.edit(w.dir, w.here, "agent")
	pin := w.pin()
	pin.Reason, pin.Turn = Turn, w.n
	w.attempt(func(s *Store) error {
		_, err := s.Take(context.Background(), folder(w.t, s, w.dir), TakeOptions{Pin: pin})
		return err
	})
	w.events = append(w.events, happened{turn: maps.Clone(w.here)})
	w.known[pin.Checkpoint] = maps.Clone(w.here)
}

// carryOut makes another workspace of what is here.
func (w *world) carryOut() {
	if len(w.forks) == 3 {
		return
	}
	f, effect := &branchOff{dir: fastDir(w.t), files: maps.Clone(w.here)}, w.id("out")
	_, f.leftOut = f.files[kept]
	delete(f.files, kept)
	w.attempt(func(s *Store) error {
		ctx := context.Background()
		now, err := s.Take(ctx, folder(w.t, s, w.dir), TakeOptions{})
		if err != nil {
			return err
		}
		info, _, err := s.Derive(ctx, now.ID, DeriveOptions{Pin: w.pin(), Drop: func(path string, _ *tree.Entry) string {
			if path == kept {
				return "it stays here"
			}
			return ""
		}})
		if err != nil {
			return err
		}
		f.base = info.ID
		return s.RestoreEmpty(ctx, info.ID, folder(w.t, s, f.dir), effect)
	})
	require.Equal(w.t, f.files, onDisk(w.t, f.dir))
	f.baseFiles = maps.Clone(f.files)
	w.forks = append(w.forks, f)
}

// carryBack merges another workspace into the user's folder.
func (w *world) carryBack() {
	if len(w.forks) == 0 {
		return
	}
	i := w.r.IntN(len(w.forks))
	f, on, effect := w.forks[i], []OnConflict{Fail, Mine, Theirs}[w.r.IntN(3)], w.id("back")
	theirs := maps.Clone(f.files)
	if f.leftOut {
		delete(theirs, kept) // what they made in its place does not come
	}
	var out Merged
	w.attempt(func(s *Store) error {
		ctx := context.Background()
		there, err := s.Take(ctx, folder(w.t, s, f.dir), TakeOptions{})
		if err != nil {
			return err
		}
		derived, _, err := s.Derive(ctx, there.ID, DeriveOptions{GitFrom: &f.base, Pin: w.pin()})
		if err != nil {
			return err
		}
		out, err = s.Merge(ctx, folder(w.t, s, w.dir), MergeOptions{
			Base: f.base, Theirs: derived.ID, OnConflict: on, EffectID: effect, Pin: w.pin(), Git: GitMerge,
		})
		return err
	})
	want, conflicts := joined(f.baseFiles, w.here, theirs, on)
	if on != Theirs {
		var told []string
		for _, k := range out.Conflicts {
			told = append(told, k.Path)
		}
		require.Equal(w.t, conflicts, told)
	}
	if on == Fail && len(conflicts) > 0 {
		require.False(w.t, out.Applied)
		require.Equal(w.t, w.here, onDisk(w.t, w.dir))
		return
	}
	event := happened{undo: out.Undo}
	if w.remembered(effect) {
		event.after = want
	}
	w.events = append(w.events, event)
	w.took(f.baseFiles, want, out.Undo, on)
	w.forks = slices.Delete(w.forks, i, i+1)
}

// restore goes back to a checkpoint, "" to any.
func (w *world) restore(id string) (undo string) {
	if id == "" {
		if len(w.known) == 0 {
			return ""
		}
		ids := slices.Sorted(maps.Keys(w.known))
		id = ids[w.r.IntN(len(ids))]
	}
	effect := w.id("restore")
	var out Restored
	w.attempt(func(s *Store) error {
		refs, err := s.List("s", "")
		if err != nil {
			return err
		}
		o := RestoreOptions{EffectID: effect, Pin: w.pin()}
		o.LastSeen, o.Since = LastSeen(refs, id, effect)
		out, err = s.RestoreOnto(context.Background(), id, folder(w.t, s, w.dir), o)
		return err
	})
	from := base(w.events, id)
	if from == nil {
		from = maps.Clone(w.here)
	}
	to := w.known[id]
	want, _ := joined(from, w.here, to, Mine)
	event := happened{undo: out.Undo}
	if w.remembered(effect) {
		event.to, event.toFiles, event.after = id, to, want
	}
	w.events = append(w.events, event)
	w.took(from, want, out.Undo, Mine)
	return out.Undo
}

// remembered tells whether it is known what a restore left: nobody waits for that.
func (w *world) remembered(effect string) bool {
	refs, err := w.s.List("s", "")
	require.NoError(w.t, err)
	return slices.ContainsFunc(refs, func(r Ref) bool { return r.Effect == effect && r.After != "" })
}

// mistake restores and takes it back at once: not a byte is another one.
func (w *world) mistake() {
	was := maps.Clone(w.here)
	if undo := w.restore(""); undo != "" {
		w.restore(undo)
		require.Equal(w.t, was, w.here)
	}
}

func TestNothingIsLost(t *testing.T) {
	runs, steps := 40, 60
	switch {
	case os.Getenv("SANDBOX_TEST_FULL") == "1":
		runs = 1000
	case testing.Short():
		runs = 6
	}
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &world{t: t, r: rand.New(rand.NewPCG(seed, 7)), dir: fastDir(t), here: files{}, known: map[string]files{}}
			w.s = openStore(t, filepath.Join(fastDir(t), "store"))
			for range 5 {
				w.edit(w.dir, w.here, "user")
			}
			for range steps {
				switch w.r.IntN(16) {
				case 0, 1, 2, 3, 4:
					w.edit(w.dir, w.here, "user")
				case 5, 6:
					w.endTurn()
				case 7, 8, 9:
					if len(w.forks) > 0 {
						f := w.forks[w.r.IntN(len(w.forks))]
						w.edit(f.dir, f.files, "agent")
					}
				case 10, 11:
					w.carryOut()
				case 12, 13:
					w.carryBack()
				case 14:
					w.restore("")
				case 15:
					w.mistake()
				}
				require.Equal(t, w.here, onDisk(t, w.dir))
			}
			_, err := w.s.GC(context.Background(), GCOptions{All: true})
			require.NoError(t, err)
			for id, want := range w.known {
				require.Equal(t, want, w.stored(id))
			}
		})
	}
}
