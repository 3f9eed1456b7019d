// This file is the conformance suite of stores, run on every implementation.

package blob_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/sourcegraph/conc"
	"github.com/stretchr/testify/require"

	"sandboxagent/internal/blob"
)

func eachStore(t *testing.T, test func(t *testing.T, s blob.Store)) {
	t.Helper()
	t.Run("Mem", func(t *testing.T) { test(t, blob.NewMem()) })
	t.Run("Dir", func(t *testing.T) { test(t, openDir(t, t.TempDir())) })
}

func openDir(t testing.TB, path string) *blob.Dir {
	t.Helper()
	d, err := blob.OpenDir(path)
	require.NoError(t, err)
	return d
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func contents() map[string][]byte {
	return map[string][]byte{
		"empty":          {},
		"one byte":       {0},
		"short text":     []byte("hello\n"),
		"long text":      bytes.Repeat([]byte("the same line again\n"), 10_000),
		"incompressible": randomBytes(100_000),
		"largest":        bytes.Repeat([]byte{7}, blob.MaxObject),
		"largest random": randomBytes(blob.MaxObject),
	}
}

func TestStoreGivesBackWhatItGot(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		for name, data := range contents() {
			ref, err := s.Put(t.Context(), data)
			require.NoError(t, err, name)
			require.Equal(t, blob.Sum(data), ref, name)
			again, err := s.Put(t.Context(), data)
			require.NoError(t, err, name)
			require.Equal(t, ref, again, name)
			has, err := s.Has(t.Context(), ref)
			require.NoError(t, err, name)
			require.True(t, has, name)
			got, err := s.Get(t.Context(), ref)
			require.NoError(t, err, name)
			require.True(t, bytes.Equal(data, got), name)
		}
	})
}

func TestStoreKeepsNothingOfItsCaller(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		data := []byte("before")
		ref, err := s.Put(t.Context(), data)
		require.NoError(t, err)
		copy(data, "change")
		got, err := s.Get(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, "before", string(got))
		copy(got, "change")
		got, err = s.Get(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, "before", string(got))
	})
}

func TestStoreErrors(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		missing := blob.Sum([]byte("never stored"))
		_, err := s.Get(t.Context(), missing)
		require.ErrorIs(t, err, blob.ErrNotFound)
		has, err := s.Has(t.Context(), missing)
		require.NoError(t, err)
		require.False(t, has)

		_, err = s.Put(t.Context(), make([]byte, blob.MaxObject+1))
		require.ErrorIs(t, err, blob.ErrTooLarge)

		for _, ref := range badRefs {
			_, err = s.Get(t.Context(), ref)
			require.ErrorIs(t, err, blob.ErrInvalidRef, "%q", ref)
			_, err = s.Has(t.Context(), ref)
			require.ErrorIs(t, err, blob.ErrInvalidRef, "%q", ref)
		}

		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Put(cancelled, nil)
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Get(cancelled, missing)
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Has(cancelled, missing)
		require.ErrorIs(t, err, context.Canceled)
	})
}

var badRefs = []blob.Ref{
	"", "sha256:", "sha256:abc", "../../etc/passwd",
	"md5:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
	"sha256:../../../../../../../../../../../../../../../../../../../etc/passwd..",
	"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n",
}

func TestParseRef(t *testing.T) {
	ref, err := blob.ParseRef("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	require.NoError(t, err)
	require.Equal(t, blob.Sum(nil), ref)
	for _, bad := range badRefs {
		_, err := blob.ParseRef(string(bad))
		require.ErrorIs(t, err, blob.ErrInvalidRef, "%q", bad)
	}
}

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	eachStore(t, func(t *testing.T, s blob.Store) {
		var tasks conc.WaitGroup
		for range 8 {
			tasks.Go(func() {
				for i := range 10 {
					data := bytes.Repeat([]byte(fmt.Sprintf("content %d\n", i)), 100)
					ref, err := s.Put(t.Context(), data)
					if err != nil {
						t.Errorf("putting: %v", err)
						return
					}
					got, err := s.Get(t.Context(), ref)
					if err != nil || !bytes.Equal(got, data) {
						t.Errorf("getting: %v, %d bytes", err, len(got))
					}
				}
			})
		}
		tasks.Wait()
	})
}

func TestJSON(t *testing.T) {
	type note struct {
		Text string `json:"text"`
		Tags []int  `json:"tags"`
	}
	eachStore(t, func(t *testing.T, s blob.Store) {
		want := note{Text: "grüße", Tags: []int{1, 2}}
		ref, err := blob.PutJSON(t.Context(), s, want)
		require.NoError(t, err)
		var got note
		require.NoError(t, blob.GetJSON(t.Context(), s, ref, &got))
		require.Equal(t, want, got)

		text, err := s.Put(t.Context(), []byte("no JSON"))
		require.NoError(t, err)
		require.ErrorIs(t, blob.GetJSON(t.Context(), s, text, &got), blob.ErrCorrupt)
		require.ErrorIs(t, blob.GetJSON(t.Context(), s, blob.Sum([]byte("x")), &got), blob.ErrNotFound)
		_, err = blob.PutJSON(t.Context(), s, func() {})
		require.Error(t, err)
	})
}
