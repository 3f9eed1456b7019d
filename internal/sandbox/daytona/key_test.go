//go:build linux

// This file tests that the key of the account reaches Daytona, and nobody else.

package daytona

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/cloud/cloudtest"
	"sandboxagent/internal/sandbox/daytona/daytonatest"
)

func TestNoKey(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	key := ""
	b := newBackend(t, s, func(o *Options) { o.APIKey = func() string { return key } })
	err := b.Available(t.Context())
	require.Equal(t, sandbox.ClassDenied, sandbox.ClassOf(err))
	require.ErrorContains(t, err, "set DAYTONA_API_KEY")
	_, err = b.Open(t.Context(), sandbox.Spec{ID: "s"})
	require.Equal(t, sandbox.ClassDenied, sandbox.ClassOf(err))
	key = " " + daytonatest.DefaultKey + "\n"
	require.NoError(t, b.Available(t.Context()))
	box := open(t, b, "s")
	require.NotContains(t, succeed(t, box, "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"), daytonatest.DefaultKey, "the key does not get into the sandbox")
	require.NoError(t, b.Destroy(t.Context(), box.Ref()))
}

// An error of Daytona that repeats the key does not get it into a log.
func TestKeyIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Options{})
	b, _ := hasty(t, s)
	for _, op := range []string{"get", "execute", "connect"} {
		s.Inject(cloudtest.Fault{Op: op, Status: 406, Body: `{"message": "the key ` + daytonatest.DefaultKey + ` is odd"}`})
		_, err := b.Open(t.Context(), sandbox.Spec{ID: "s"})
		require.ErrorContains(t, err, "the key (the key) is odd", op)
		require.NotContains(t, err.Error(), daytonatest.DefaultKey)
	}
}

// The key goes nowhere unencrypted where the control plane is not reached that way.
func TestKeyStaysEncrypted(t *testing.T) {
	b, err := New(Options{APIKey: func() string { return "k" }})
	require.NoError(t, err)
	for _, bad := range []string{"http://proxy.example/toolbox", "ftp://proxy.example", "proxy", "https://"} {
		_, f := b.access(t.Context(), opOpen, info{ID: "i", Toolbox: bad})
		require.Error(t, f.Fault(), bad)
	}
	a, f := b.access(t.Context(), opOpen, info{ID: "i", Toolbox: "https://proxy.example/toolbox/"})
	require.NoError(t, f.Fault())
	require.Equal(t, "https://proxy.example/toolbox/i", a.base)
}
