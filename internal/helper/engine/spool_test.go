// This file tests the spool against a plain model of what it should keep.

package engine

import (
	"bytes"
	"math/rand"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpoolKeepsHeadAndTail(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 200 {
		limit := int64(1 + r.Intn(100))
		path := filepath.Join(t.TempDir(), "s")
		s := newSpool(path, limit)
		var all []byte
		for range r.Intn(8) {
			piece := make([]byte, r.Intn(70))
			r.Read(piece)
			s.write(piece)
			all = append(all, piece...)
			checkSpool(t, s, all, limit, r)
		}
		s.finish()
		checkSpool(t, s, all, limit, r)
		loaded, err := loadSpool(path, limit, int64(len(all)))
		require.NoError(t, err)
		checkSpool(t, loaded, all, limit, r)
	}
}

// checkSpool reads from anywhere and compares with what a command wrote.
func checkSpool(t *testing.T, s *spool, all []byte, limit int64, r *rand.Rand) {
	t.Helper()
	total := int64(len(all))
	head, low := limit/2, max(limit/2, total-(limit-limit/2))
	for range 20 {
		from, n := int64(r.Intn(len(all)+10)), r.Intn(60)
		data, at, sum, err := s.read(from, n)
		require.NoError(t, err)
		require.Equal(t, total, sum)
		want := from
		if from >= head && from < low {
			want = low
		}
		require.Equal(t, max(want, from), at)
		if at < total {
			require.True(t, bytes.Equal(all[at:at+int64(len(data))], data))
			require.True(t, len(data) > 0 || n == 0)
		} else {
			require.Empty(t, data)
		}
	}
}

func TestSpoolAfterCrashSkipsWhatIsUncertain(t *testing.T) {
	const limit = 1 << 20
	path := filepath.Join(t.TempDir(), "s")
	s := newSpool(path, limit)
	s.write(bytes.Repeat([]byte("x"), 3*limit))
	loaded, err := loadSpool(path, limit, 0)
	require.NoError(t, err)
	data, at, total, err := loaded.read(limit, 10)
	require.NoError(t, err)
	require.Equal(t, int64(3*limit), total)
	require.Equal(t, int64(3*limit-limit/2+readChunk), at)
	require.Equal(t, "xxxxxxxxxx", string(data))
}

func TestSpoolThatCannotBeStored(t *testing.T) {
	s := newSpool(filepath.Join(t.TempDir(), "none", "s"), 100)
	s.write([]byte("lost"))
	s.write([]byte("lost too"))
	total, failed := s.state()
	require.Equal(t, int64(12), total)
	require.Error(t, failed)
	data, at, _, err := s.read(0, 10)
	require.NoError(t, err)
	require.Empty(t, data)
	require.Equal(t, int64(12), at)
}

func TestQuotaDropsTheOldest(t *testing.T) {
	dir := t.TempDir()
	e := &Engine{quota: &quota{max: 250}, commands: map[string]*command{}}
	for i := range 5 {
		d := filepath.Join(dir, string(rune('a'+i)))
		require.NoError(t, mkdir(d))
		s := newSpool(filepath.Join(d, "stdout"), 1000)
		s.write(make([]byte, 100))
		s.finish()
		e.account(d, day(i))
	}
	require.NoFileExists(t, filepath.Join(dir, "a", "stdout"))
	require.NoFileExists(t, filepath.Join(dir, "c", "stdout"))
	require.FileExists(t, filepath.Join(dir, "d", "stdout"))
	require.FileExists(t, filepath.Join(dir, "e", "stdout"))
	s, err := loadSpool(filepath.Join(dir, "a", "stdout"), 1000, 100)
	require.NoError(t, err)
	_, at, total, err := s.read(0, 10)
	require.NoError(t, err)
	require.Equal(t, []int64{100, 100}, []int64{at, total})
}
