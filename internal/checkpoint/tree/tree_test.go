// This file tests the format: what is written is read again, and nothing else is.

package tree

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func sample() []Entry {
	return []Entry{
		{Name: "\xff\n", Kind: Link, Mode: 0o777, Mtime: -1, Target: "../\xfe"},
		{Name: "a", Kind: File, Mode: 0o644, Size: 3, Mtime: 1<<62 + 1, Hash: Sum([]byte("abc")), Group: GroupOf("a")},
		{Name: "b", Kind: File, Mode: 0, Size: 1 << 40, Chunked: true, Hash: Sum([]byte("list"))},
		{Name: "c", Kind: Dir, Mode: 0o555, Hash: Empty},
	}
}

func sorted(es []Entry) []Entry { return append(append([]Entry{}, es[1:]...), es[0]) }

func TestDirectories(t *testing.T) {
	want := sorted(sample())
	got, err := DecodeDir(EncodeDir(want))
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, Empty, Sum(EncodeDir(nil)))
	for name, spoil := range map[string]func(es []Entry) []Entry{
		"order":   func(es []Entry) []Entry { es[0], es[1] = es[1], es[0]; return es },
		"twice":   func(es []Entry) []Entry { return append(es[:1], es...) },
		"dots":    func(es []Entry) []Entry { es[0].Name = ".."; return es[:1] },
		"slash":   func(es []Entry) []Entry { es[0].Name = "a/b"; return es[:1] },
		"nul":     func(es []Entry) []Entry { es[0].Name = "a\x00"; return es[:1] },
		"empty":   func(es []Entry) []Entry { es[0].Name = ""; return es[:1] },
		"long":    func(es []Entry) []Entry { es[0].Name = strings.Repeat("x", MaxName+1); return es[:1] },
		"setuid":  func(es []Entry) []Entry { es[0].Mode = 0o4755; return es[:1] },
		"kind":    func(es []Entry) []Entry { es[0].Kind = 9; return es[:1] },
		"chunked": func(es []Entry) []Entry { es[0].Chunked = true; return es[:1] },
		"target":  func(es []Entry) []Entry { es[3].Target = ""; return es[3:] },
	} {
		_, err := DecodeDir(EncodeDir(spoil(sorted(sample()))))
		require.ErrorIs(t, err, ErrFormat, name)
	}
	b := EncodeDir(want)
	for n := range b {
		if _, err := DecodeDir(b[:n]); err == nil {
			require.Contains(t, []int{0, len(EncodeDir(want[:1])), len(EncodeDir(want[:2])), len(EncodeDir(want[:3]))}, n)
		}
	}
}

func TestExtentsAndNotes(t *testing.T) {
	const size = 5*ChunkSize + 7
	want := []Extent{{Offset: ChunkSize, Size: ChunkSize, Hash: Sum([]byte("1"))}, {Offset: 5 * ChunkSize, Size: 7, Hash: Sum([]byte("2"))}}
	got, err := DecodeExtents(EncodeExtents(want), size)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = DecodeExtents(EncodeExtents(want), 5*ChunkSize)
	require.ErrorIs(t, err, ErrFormat)
	_, err = DecodeExtents(EncodeExtents([]Extent{want[1], want[0]}), size)
	require.ErrorIs(t, err, ErrFormat)

	notes := []Note{{Path: "z", Reason: Pipe}, {Path: "a/\xff", Reason: TooLarge, Size: 1 << 40}}
	again, err := DecodeNotes(EncodeNotes(notes))
	require.NoError(t, err)
	require.Equal(t, notes, again, "sorted")
	require.Equal(t, "a/\xff", again[0].Path)
	_, err = DecodeNotes([]byte{99, 0, 1, 'x'})
	require.ErrorIs(t, err, ErrFormat)
}

func TestHashesAndPaths(t *testing.T) {
	h, err := ParseHash(Empty.String())
	require.NoError(t, err)
	require.Equal(t, Empty, h)
	for _, bad := range []string{"", "../x", strings.ToUpper(Empty.String()), Empty.String() + "0", strings.Repeat("g", 64)} {
		_, err := ParseHash(bad)
		require.ErrorIs(t, err, ErrFormat, bad)
	}
	require.NoError(t, CheckPath("a/b\xff/c"))
	for _, bad := range []string{"", "/a", "a/", "a//b", "a/../b", ".", "a/.", strings.Repeat("a/", MaxDepth) + "a"} {
		require.ErrorIs(t, CheckPath(bad), ErrFormat, bad)
	}
	require.True(t, IsZero(make([]byte, 1001)))
	require.False(t, IsZero(append(make([]byte, 1001), 1)))
}

func FuzzDecoders(f *testing.F) {
	f.Add(EncodeDir(sorted(sample())))
	f.Add(EncodeExtents([]Extent{{Offset: ChunkSize, Size: 5}}))
	f.Add(EncodeNotes([]Note{{Path: "p", Reason: Pipe}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if es, err := DecodeDir(b); err == nil {
			again, err := DecodeDir(EncodeDir(es))
			require.NoError(t, err)
			require.Equal(t, es, again)
		}
		if xs, err := DecodeExtents(b, 1<<30+5); err == nil {
			again, err := DecodeExtents(EncodeExtents(xs), 1<<30+5)
			require.NoError(t, err)
			require.Equal(t, xs, again)
		}
		if ns, err := DecodeNotes(b); err == nil {
			require.Equal(t, len(ns) == 0, len(bytes.TrimSpace(EncodeNotes(ns))) == 0)
		}
	})
}
