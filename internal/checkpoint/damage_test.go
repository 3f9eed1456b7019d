// This file tests that damage to the store is told, and mended by what folders still have.

package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// spoil changes bytes in every pack of a store, which is opened anew as by the next worker.
func (k *taken) spoil(how func(b []byte) []byte) {
	k.t.Helper()
	packs, err := filepath.Glob(filepath.Join(k.s.Dir(), packsDir, "*.pack"))
	require.NoError(k.t, err)
	require.NotEmpty(k.t, packs)
	for _, p := range packs {
		b, err := os.ReadFile(p)
		require.NoError(k.t, err)
		require.NoError(k.t, os.WriteFile(p, how(b), 0o600))
	}
	k.reopen()
}

func (k *taken) reopen() {
	k.t.Helper()
	s, err := Open(k.s.opts)
	require.NoError(k.t, err)
	k.s = s
}

func TestDamageIsMendedByTheNextCheckpoint(t *testing.T) {
	for name, how := range map[string]func([]byte) []byte{
		"flipped": func(b []byte) []byte {
			for i := len(b) / 4; i < len(b); i++ {
				b[i] ^= 0x55
			}
			return b
		},
		"cut short": func(b []byte) []byte { return b[:len(b)/3] },
		"zeros":     func(b []byte) []byte { return make([]byte, len(b)) },
		"emptied":   func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			k := newTaken(t)
			write(t, k.dir, "d/a", "some text\n")
			write(t, k.dir, "b", "other text\n")
			first := k.take()
			whole, err := k.s.Check(t.Context())
			require.NoError(t, err)
			require.Equal(t, Checked{Checkpoints: 1}, whole)
			k.spoil(how)
			found, err := k.s.Check(t.Context())
			require.NoError(t, err)
			require.Len(t, found.Damaged, 1)
			require.Equal(t, first.ID, found.Damaged[0].Checkpoint)
			_, err = k.s.RestoreOnto(t.Context(), first.ID, folder(t, k.s, k.dir), RestoreOptions{})
			if err != nil { // or the picture before it has mended it
				requireClass(t, sandbox.ClassCorrupt, err)
				require.ErrorContains(t, err, first.ID[:12])
			}
			again := k.take()
			require.Equal(t, first.ID, again.ID)
			require.NoError(t, k.s.Verify(t.Context(), first.ID))
			k.reopen()
			require.NoError(t, k.s.Verify(t.Context(), first.ID), "also for the next worker")
			require.FileExists(t, filepath.Join(k.unpack(first.ID), "d/a"))
			_, err = k.s.GC(t.Context(), GCOptions{})
			if name == "flipped" || name == "zeros" { // else an index leads out of its pack
				require.NoError(t, err)
			}
			require.NoError(t, k.s.Verify(t.Context(), first.ID))
		})
	}
}

func TestDamageIsToldByName(t *testing.T) {
	k := newTaken(t)
	write(t, k.dir, "a", "some text\n")
	first := k.take()
	write(t, k.dir, "a", "changed\n")
	k.spoil(func(b []byte) []byte { return make([]byte, len(b)) })
	_, err := k.s.RestoreOnto(t.Context(), first.ID, folder(t, k.s, k.dir), RestoreOptions{})
	requireClass(t, sandbox.ClassCorrupt, err)
	require.ErrorContains(t, err, "checkpoint "+first.ID[:12]+" is damaged: use another one")
	b, err := os.ReadFile(filepath.Join(k.dir, "a"))
	require.NoError(t, err)
	require.Equal(t, "changed\n", string(b))
	second := k.take()
	require.NoError(t, k.s.Verify(t.Context(), second.ID))
}

// Every damaged checkpoint is told with what it is kept for, also one of a series that have nearly all in common, and one that
// is not there at all.
func TestEverythingIsChecked(t *testing.T) {
	k := newTaken(t)
	var ids []string
	for _, text := range []string{"one", "two", "three"} {
		write(t, k.dir, "d/same", "the same in all\n")
		write(t, k.dir, "changes", text)
		info, err := k.s.Take(t.Context(), k.w, TakeOptions{Pin: &Ref{Session: "s", Summary: text}})
		require.NoError(t, err)
		ids = append(ids, info.ID)
	}
	whole, err := k.s.Check(t.Context())
	require.NoError(t, err)
	require.Equal(t, Checked{Checkpoints: 3}, whole)

	require.NoError(t, os.Remove(k.s.manifestPath(ids[1])))
	k.reopen()
	found, err := k.s.Check(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, found.Checkpoints)
	require.Len(t, found.Damaged, 1)
	require.Equal(t, ids[1], found.Damaged[0].Checkpoint)
	require.Equal(t, "two", found.Damaged[0].Refs[0].Summary)

	k.spoil(func(b []byte) []byte { return make([]byte, len(b)) })
	found, err = k.s.Check(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Damaged, 3)
}
