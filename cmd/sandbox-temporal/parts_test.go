// These tests exist for the small parts a start is made of: flags, lock, certificates, ports, aliases, state.

package main

import (
	"bytes"
	"crypto/x509"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/primitives"
)

func TestParseFlags(t *testing.T) {
	o, err := parseFlags([]string{"--state-dir", "x", "--ui", "--ui-port", "81", "--parent-pipe", "--log-level", "info"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{stateDir: "x", ui: true, uiPort: 81, parentPipe: true}, o)
	for _, bad := range [][]string{{}, {"--state-dir", "x", "y"}, {"--state-dir", "x", "--log-level", "loud"}, {"--state-dir", "x", "--ui-port", "70000"}} {
		_, err := parseFlags(bad, io.Discard)
		require.Error(t, err, bad)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.lock")
	first, err := acquireLock(path)
	require.NoError(t, err)
	require.False(t, first.unclean)

	_, err = acquireLock(path)
	var held *lockedError
	require.ErrorAs(t, err, &held)
	var line bytes.Buffer
	require.Equal(t, exitLocked, report(err, &line))
	require.Equal(t, 1, bytes.Count(line.Bytes(), []byte("\n")))
	require.Contains(t, line.String(), held.pid)

	require.NoError(t, first.file.Close()) // as if killed
	second, err := acquireLock(path)
	require.NoError(t, err)
	require.True(t, second.unclean)
	second.markClean()
	require.NoError(t, second.file.Close())
	third, err := acquireLock(path)
	require.NoError(t, err)
	require.False(t, third.unclean)
}

func TestCertificatesAreKeptAndRenewed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	first, err := ensureCertificates(dir)
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 6)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm(), e.Name())
	}
	same, err := ensureCertificates(dir)
	require.NoError(t, err)
	require.Equal(t, first, same)

	ca, err := loadPair(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key"), nil, time.Now())
	require.NoError(t, err)
	almostOver := time.Now().Add(renewBefore - leafLifetime - time.Hour)
	_, err = issue(filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"), ca, almostOver)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "client.key"), []byte("torn"), 0o600))
	renewed, err := ensureCertificates(dir)
	require.NoError(t, err)
	require.Equal(t, first.ca, renewed.ca, "clients keep trusting the same authority")
	require.NotEqual(t, first.serverCert, renewed.serverCert)

	tls, err := renewed.clientTLS()
	require.NoError(t, err)
	_, err = tls.Certificates[0].Leaf.Verify(x509.VerifyOptions{Roots: tls.RootCAs, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
}

func TestPortsAreKeptUnlessTaken(t *testing.T) {
	ports, err := choosePorts("")
	require.NoError(t, err)
	require.Len(t, ports, 4)
	kept := loopback(ports[primitives.FrontendService])
	again, err := choosePorts(kept)
	require.NoError(t, err)
	require.Equal(t, ports[primitives.FrontendService], again[primitives.FrontendService])

	l, err := net.Listen("tcp", kept)
	require.NoError(t, err)
	defer l.Close()
	other, err := choosePorts(kept)
	require.NoError(t, err)
	require.NotEqual(t, ports[primitives.FrontendService], other[primitives.FrontendService])
}

func TestAliasesStayInTheirColumns(t *testing.T) {
	have := map[string]string{"Keyword02": "SandboxTitle", "Text01": "Elsewhere"}
	got, changed, err := addAliases(have, []string{"SandboxTitle", "SandboxHost"})
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, map[string]string{"Keyword02": "SandboxTitle", "Text01": "Elsewhere", "Keyword01": "SandboxHost"}, got)
	_, changed, err = addAliases(got, []string{"SandboxTitle", "SandboxHost"})
	require.NoError(t, err)
	require.False(t, changed)
	many := make([]string, keywordColumns+1)
	for i := range many {
		many[i] = string(rune('a' + i))
	}
	_, _, err = addAliases(nil, many)
	require.Error(t, err)
}

func TestStateSurvivesDamage(t *testing.T) {
	st, err := openState(filepath.Join(t.TempDir(), "deep", "state"))
	require.NoError(t, err)
	require.Zero(t, st.read())
	require.NoError(t, st.write(serverInfo{Address: "127.0.0.1:1", PID: 3}))
	require.Equal(t, 3, st.read().PID)
	require.NoError(t, os.WriteFile(st.path("temporal.json"), []byte("{"), 0o600))
	require.Zero(t, st.read())
	left, err := filepath.Glob(st.path("*.tmp-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
