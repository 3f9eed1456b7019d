// This file tests content that is longer than one object.

package blob_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/blob"
)

const magic = "\x8b\xd1blob-chunks-1\n\x00"

func TestStreamsOfAnyLength(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		for _, size := range []int{
			0, 1, blob.ChunkSize - 1, blob.ChunkSize, blob.ChunkSize + 1,
			2 * blob.ChunkSize, 3*blob.ChunkSize + 12345,
		} {
			data := randomBytes(size)
			w := blob.NewWriter(t.Context(), s)
			_, err := io.Copy(w, iotest.HalfReader(bytes.NewReader(data)))
			require.NoError(t, err)
			require.EqualValues(t, size, w.Size())
			ref, err := w.Close()
			require.NoError(t, err)
			if size <= blob.ChunkSize {
				require.Equal(t, blob.Sum(data), ref, "short content is a plain object")
			}
			again, err := blob.PutAll(t.Context(), s, data)
			require.NoError(t, err)
			require.Equal(t, ref, again, "the same content has the same reference however it was written")

			r, err := blob.Open(t.Context(), s, ref)
			require.NoError(t, err)
			require.EqualValues(t, size, r.Size())
			got, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got))
		}
	})
}

func TestReadAt(t *testing.T) {
	s := blob.NewMem()
	data := randomBytes(2*blob.ChunkSize + 100)
	ref, err := blob.PutAll(t.Context(), s, data)
	require.NoError(t, err)
	plain, err := s.Put(t.Context(), data)
	require.NoError(t, err)
	require.NotEqual(t, ref, plain)
	for _, ref := range []blob.Ref{ref, plain} {
		r, err := blob.Open(t.Context(), s, ref)
		require.NoError(t, err)
		for _, off := range []int{2 * blob.ChunkSize, 0, blob.ChunkSize - 10, blob.ChunkSize, len(data) - 20} {
			p := make([]byte, 20)
			n, err := r.ReadAt(p, int64(off))
			require.NoError(t, err)
			require.Equal(t, data[off:off+20], p[:n])
		}
		p := make([]byte, 20)
		n, err := r.ReadAt(p, int64(len(data)-5))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, data[len(data)-5:], p[:n])
		_, err = r.ReadAt(p, int64(len(data)))
		require.ErrorIs(t, err, io.EOF)
		_, err = r.ReadAt(p, -1)
		require.Error(t, err)
		require.NoError(t, iotest.TestReader(io.NewSectionReader(r, 10, 1000), data[10:1010]))
	}
}

func TestContentThatLooksLikeAManifest(t *testing.T) {
	s := blob.NewMem()
	secret, err := s.Put(t.Context(), []byte("of somebody else"))
	require.NoError(t, err)
	digest, err := hex.DecodeString(strings.TrimPrefix(string(secret), "sha256:"))
	require.NoError(t, err)
	forged := append(binary.BigEndian.AppendUint64([]byte(magic), 16), digest...)
	for _, data := range [][]byte{[]byte(magic), forged, append(forged, make([]byte, blob.ChunkSize)...)} {
		ref, err := blob.PutAll(t.Context(), s, data)
		require.NoError(t, err)
		got, err := blob.ReadAll(t.Context(), s, ref, blob.MaxObject)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
	}
}

func TestReadAllIsBounded(t *testing.T) {
	s := blob.NewMem()
	ref, err := blob.PutAll(t.Context(), s, randomBytes(2*blob.ChunkSize))
	require.NoError(t, err)
	_, err = blob.ReadAll(t.Context(), s, ref, 2*blob.ChunkSize-1)
	require.ErrorIs(t, err, blob.ErrTooLarge)
	_, err = blob.ReadAll(t.Context(), s, ref, 2*blob.ChunkSize)
	require.NoError(t, err)
}

func TestMissingAndWrongChunks(t *testing.T) {
	s, other := blob.NewMem(), blob.NewMem()
	ref, err := blob.PutAll(t.Context(), s, randomBytes(2*blob.ChunkSize))
	require.NoError(t, err)
	manifest, err := s.Get(t.Context(), ref)
	require.NoError(t, err)
	_, err = other.Put(t.Context(), manifest)
	require.NoError(t, err)
	_, err = blob.ReadAll(t.Context(), other, ref, blob.MaxObject)
	require.ErrorIs(t, err, blob.ErrNotFound)

	short, err := s.Put(t.Context(), []byte("short"))
	require.NoError(t, err)
	digest, err := hex.DecodeString(strings.TrimPrefix(string(short), "sha256:"))
	require.NoError(t, err)
	wrong, err := s.Put(t.Context(), append(binary.BigEndian.AppendUint64([]byte(magic), 6), digest...))
	require.NoError(t, err)
	_, err = blob.ReadAll(t.Context(), s, wrong, blob.MaxObject)
	require.ErrorIs(t, err, blob.ErrCorrupt)
}

func TestWriterFailsForGood(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := blob.NewWriter(ctx, blob.NewMem())
	_, err := w.Write(make([]byte, blob.ChunkSize))
	require.NoError(t, err)
	cancel()
	_, err = w.Write(make([]byte, 10))
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.Write([]byte("more"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.Close()
	require.ErrorIs(t, err, context.Canceled)

	w = blob.NewWriter(t.Context(), blob.NewMem())
	_, err = w.Close()
	require.NoError(t, err)
	_, err = w.Close()
	require.Error(t, err)
	_, err = w.Write([]byte("late"))
	require.Error(t, err)
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte{})
	f.Add(binary.BigEndian.AppendUint64(nil, 1<<63))
	f.Add(append(binary.BigEndian.AppendUint64(nil, 3), make([]byte, 32)...))
	f.Fuzz(func(t *testing.T, tail []byte) {
		s := blob.NewMem()
		ref, err := s.Put(t.Context(), append([]byte(magic), tail...))
		require.NoError(t, err)
		_, err = blob.ReadAll(t.Context(), s, ref, blob.MaxObject)
		require.Error(t, err, "no chunk of it exists")
	})
}
