// This file measures checkpoints against a bare walk. SANDBOX_BENCH_FILES says of how many files; 60000 is what is reported.

package checkpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func benchFiles() int {
	if n, err := strconv.Atoi(os.Getenv("SANDBOX_BENCH_FILES")); err == nil && n > 0 {
		return n
	}
	return 3000
}

// project makes files of the sizes that source trees have, in directories of 12.
func project(b testing.TB, dir string, files int) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"func ", "return ", "if err != nil {\n", "}\n", "\t", "value ", "context.Context", " := ", "import ", "0x"}
	for i := range files {
		var text []byte
		for len(text) < 200+int(r.ExpFloat64()*4000) {
			text = append(text, words[r.IntN(len(words))]...)
			text = strconv.AppendInt(text, r.Int64N(1e6), 36)
		}
		path := filepath.Join(dir, fmt.Sprintf("d%d/e%d/f%d.go", i/144, i/12, i))
		if i%12 == 0 {
			require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		}
		require.NoError(b, os.WriteFile(path, text, 0o644))
	}
}

// Project and BenchFiles are for the benchmark through the helper.
var (
	Project    = project
	BenchFiles = benchFiles
)

// bareWalk reads all names and looks at each, in four goroutines: what no picture can do without.
func bareWalk(b testing.TB, dir string) {
	queue := make(chan string, 1<<20)
	var pending sync.WaitGroup
	pending.Add(1)
	queue <- dir
	for range 4 {
		go func() {
			for d := range queue {
				walkOne(b, d, func(sub string) { pending.Add(1); queue <- sub })
				pending.Done()
			}
		}()
	}
	pending.Wait()
	close(queue)
}

func walkOne(b testing.TB, dir string, found func(string)) {
	f, err := os.Open(dir)
	require.NoError(b, err)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	require.NoError(b, err)
	for _, name := range names {
		var st unix.Stat_t
		require.NoError(b, unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW))
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			found(filepath.Join(dir, name))
		}
	}
}

func BenchmarkTake(b *testing.B) {
	dir := b.TempDir()
	files := benchFiles()
	project(b, dir, files)
	ctx := context.Background()
	b.Run("bare walk", func(b *testing.B) {
		for b.Loop() {
			bareWalk(b, dir)
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			s := newStore(b)
			info := take(b, s, dir)
			require.GreaterOrEqual(b, info.Files, files)
		}
	})
	s := newStore(b)
	last := take(b, s, dir)
	b.Run("unchanged", func(b *testing.B) {
		last = take(b, s, dir) // what was young is trusted from here on
		for b.Loop() {
			info, err := s.Take(ctx, folder(b, s, dir), TakeOptions{Parent: last.ID})
			require.NoError(b, err)
			require.True(b, info.Reused)
		}
	})
	b.Run("10 changed", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for i := range 10 {
				n++
				path := filepath.Join(dir, fmt.Sprintf("d%d/e%d/f%d.go", i*files/10/144, i*files/10/12, i*files/10))
				require.NoError(b, os.WriteFile(path, strconv.AppendInt(nil, int64(n), 10), 0o644))
			}
			info, err := s.Take(ctx, folder(b, s, dir), TakeOptions{Parent: last.ID})
			require.NoError(b, err)
			require.False(b, info.Reused)
		}
	})
	first := last
	b.Run("back onto, 10 changed", func(b *testing.B) {
		for b.Loop() {
			write(b, dir, "d0/e0/f0.go", "changed again")
			out, err := s.RestoreOnto(ctx, first.ID, folder(b, s, dir), RestoreOptions{})
			require.NoError(b, err)
			require.NotEmpty(b, out.Restored)
		}
	})
	b.Run("restore to empty", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, s.RestoreEmpty(ctx, first.ID, folder(b, s, b.TempDir()), ""))
		}
	})
}
