// This file tests a carry onto a disk that is too small.

package carry

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sandboxagent/internal/sandbox"
)

func TestTargetDiskIsFull(t *testing.T) {
	s := newScene(t)
	small := s.mkdir("small")
	if err := unix.Mount("none", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("no small file system can be mounted: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(small, unix.MNT_DETACH)) })
	for _, name := range []string{"a", "b", "c", "d"} {
		s.write(s.home, map[string]string{name: strings.Repeat(name, 128<<10)})
	}
	before := s.files(s.home)
	_, err := s.Open(t.Context(), s.opening(s.place(s.folders, "s.1", filepath.Join(small, "new"))))
	require.Equal(t, sandbox.ClassLimit, sandbox.ClassOf(err), "%v", err)
	require.ErrorContains(t, err, "there is no room in "+filepath.Join(small, "new")+" for what would come, about 1 MiB; nothing was changed: free some space")
	require.Empty(t, s.files(small))
	require.Equal(t, before, s.files(s.home))
	require.Zero(t, s.refs())

	full := s.mkdir("small", "home") // and on the way back
	o := s.opening(s.place(s.boxes, "s.2", s.home))
	o.Session.Effect = "e2"
	out, err := s.Open(t.Context(), o)
	require.NoError(t, err)
	_, err = s.Merge(t.Context(), Merging{
		To: s.place(s.folders, "other", full), From: Origin{Folder: s.home}, Theirs: out.Checkpoint, Session: o.Session,
	})
	require.Equal(t, sandbox.ClassLimit, sandbox.ClassOf(err), "%v", err)
	require.Empty(t, s.files(full))
}
