// This file tests what only a directory can get wrong: damage, crashes, other processes and modes.

package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func newDir(t testing.TB) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blobs")
	d, err := OpenDir(path)
	require.NoError(t, err)
	return d, path
}

func put(t testing.TB, d *Dir, data []byte) (Ref, string) {
	t.Helper()
	ref, err := d.Put(t.Context(), data)
	require.NoError(t, err)
	path, err := d.path(ref)
	require.NoError(t, err)
	return ref, path
}

func TestDirIsPrivate(t *testing.T) {
	d, root := newDir(t)
	_, object := put(t, d, []byte("private"))
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return nil
	}))
	require.FileExists(t, object)
	entries, err := os.ReadDir(d.tmp)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestDirCompressesWhenSmaller(t *testing.T) {
	d, _ := newDir(t)
	text := bytes.Repeat([]byte("again and again "), 1000)
	_, path := put(t, d, text)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(len(text)/10))
	_, path = put(t, d, []byte("short"))
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, headerSize+5, info.Size())
}

func TestDamageIsFoundAndHealed(t *testing.T) {
	text := bytes.Repeat([]byte("precious "), 100)
	bomb := bombOf(t, 1<<28)
	damages := map[string]func(object []byte) []byte{
		"nothing left":    func([]byte) []byte { return nil },
		"cut header":      func(o []byte) []byte { return o[:headerSize-1] },
		"cut":             func(o []byte) []byte { return o[:len(o)-3] },
		"flipped bit":     func(o []byte) []byte { o[len(o)-1] ^= 1; return o },
		"longer":          func(o []byte) []byte { return append(o, "tail"...) },
		"other version":   func(o []byte) []byte { o[0]++; return o },
		"other encoding":  func(o []byte) []byte { o[1] = 9; return o },
		"flags":           func(o []byte) []byte { o[2] = 1; return o },
		"claims too much": func(o []byte) []byte { o[4] = 0xff; return o },
		"other content":   func([]byte) []byte { return append([]byte{formatVersion, 0, 0, 0, 0, 0, 0, 4}, "evil"...) },
		"bomb":            func(o []byte) []byte { return append(o[:headerSize:headerSize], bomb...) },
		"large bomb": func([]byte) []byte {
			return append(binary.BigEndian.AppendUint32([]byte{formatVersion, 1, 0, 0}, MaxObject), bomb...)
		},
		"too large a file": func(o []byte) []byte { return append(o, make([]byte, MaxObject+headerSize)...) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			d, _ := newDir(t)
			ref, path := put(t, d, text)
			object, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, damage(object), 0o600))
			_, err = d.Get(t.Context(), ref)
			require.ErrorIs(t, err, ErrCorrupt)
			put(t, d, text)
			got, err := d.Get(t.Context(), ref)
			require.NoError(t, err)
			require.Equal(t, text, got)
		})
	}
}

// bombOf compresses n zero bytes.
func bombOf(t testing.TB, n int) []byte {
	t.Helper()
	var bomb bytes.Buffer
	w, err := zstd.NewWriter(&bomb)
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range n / len(zeros) {
		_, err := w.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return bomb.Bytes()
}

func TestOpenRemovesWhatDeadWritersLeft(t *testing.T) {
	d, root := newDir(t)
	ref, _ := put(t, d, []byte("kept"))
	stale, fresh := filepath.Join(d.tmp, "put-stale"), filepath.Join(d.tmp, "put-fresh")
	for _, path := range []string{stale, fresh} {
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
	}
	old := time.Now().Add(-staleAfter - time.Minute)
	require.NoError(t, os.Chtimes(stale, old, old))
	d, err := OpenDir(root)
	require.NoError(t, err)
	require.NoFileExists(t, stale)
	require.FileExists(t, fresh)
	_, err = d.Get(t.Context(), ref)
	require.NoError(t, err)
}

func TestFailedPutLeavesNothing(t *testing.T) {
	d, _ := newDir(t)
	data := []byte("cannot be placed")
	path, err := d.path(Sum(data))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
	_, err = d.Put(t.Context(), data)
	require.Error(t, err)
	_, err = d.Get(t.Context(), Sum(data))
	require.Error(t, err)
	entries, err := os.ReadDir(d.tmp)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestOtherProcesses writes the same content from several processes, one of which is killed again and again.
func TestOtherProcesses(t *testing.T) {
	if root := os.Getenv("BLOB_TEST_DIR"); root != "" {
		writeForever(t, root)
		return
	}
	d, root := newDir(t)
	for range 4 {
		child := exec.Command(os.Args[0], "-test.run=^TestOtherProcesses$")
		child.Env = append(os.Environ(), "BLOB_TEST_DIR="+root)
		require.NoError(t, child.Start())
		require.Eventually(t, func() bool { return countObjects(t, d) > 0 }, 10*time.Second, time.Millisecond)
		for _, data := range shared() {
			put(t, d, data)
		}
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
		for _, data := range shared() {
			got, err := d.Get(t.Context(), Sum(data))
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got))
		}
		require.NoError(t, os.RemoveAll(d.objects))
		require.NoError(t, privateDir(d.objects))
	}
}

func shared() [][]byte {
	var all [][]byte
	for i := range 10 {
		all = append(all, bytes.Repeat([]byte{byte(i), 'x', '\n'}, 10_000))
	}
	return all
}

func writeForever(t *testing.T, root string) {
	t.Helper()
	d, err := OpenDir(root)
	require.NoError(t, err)
	for {
		for _, data := range shared() {
			if _, err := d.Put(context.Background(), data); err != nil {
				return
			}
		}
	}
}

func countObjects(t *testing.T, d *Dir) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.objects, "*", "*"))
	require.NoError(t, err)
	return len(found)
}

func FuzzDecodeObject(f *testing.F) {
	for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("text "), 100)} {
		object, err := encodeObject(data)
		require.NoError(f, err)
		f.Add(object)
	}
	f.Add(append([]byte{formatVersion, encodingZstd, 0, 0, 0, 0x80, 0, 0}, bombOf(f, 1<<24)...))
	f.Fuzz(func(t *testing.T, object []byte) {
		data, err := decodeObject(object)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		require.LessOrEqual(t, len(data), MaxObject)
	})
}

func FuzzEncodeObject(f *testing.F) {
	f.Add([]byte("hello"), uint16(100))
	f.Fuzz(func(t *testing.T, data []byte, repeat uint16) {
		data = bytes.Repeat(data, int(repeat)%64)
		object, err := encodeObject(data)
		require.NoError(t, err)
		require.LessOrEqual(t, len(object), headerSize+len(data))
		got, err := decodeObject(object)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
	})
}

func BenchmarkDir(b *testing.B) {
	text := bytes.Repeat([]byte("func main() { return }\n"), 64<<10/23)
	b.Run("PutNew64K", func(b *testing.B) {
		d, _ := newDir(b)
		b.SetBytes(int64(len(text)))
		for i := 0; b.Loop(); i++ {
			binary.BigEndian.PutUint64(text, uint64(i))
			put(b, d, text)
		}
	})
	b.Run("PutSame64K", func(b *testing.B) {
		d, _ := newDir(b)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			put(b, d, text)
		}
	})
	b.Run("Get64K", func(b *testing.B) {
		d, _ := newDir(b)
		ref, _ := put(b, d, text)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			_, err := d.Get(b.Context(), ref)
			require.NoError(b, err)
		}
	})
}
