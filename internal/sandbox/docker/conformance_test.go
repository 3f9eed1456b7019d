// This file runs the conformance suite on containers of a real engine.

package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Suite{Open: func(t *testing.T) sandboxtest.Target {
		b := newBackend(t)
		return sandboxtest.Target{
			Backend: b, Spec: sandbox.Spec{Workspace: t.TempDir()}, Other: t.TempDir(), Config: describe(t, b),
			KillHelper: func(t *testing.T, ref sandbox.Ref) { b.within(t, ref.ID, "pkill", "-KILL", "-f", "serve --state") },
			Processes:  b.processes,
			Usage:      b.usage,
			Gone:       b.gone,
		}
	}})
}

// describe tells another process how to make the backend; fromDescription does so there.
func describe(t *testing.T, b *Backend) string {
	t.Helper()
	text, err := json.Marshal([]string{b.opts.StateDir, b.opts.HostID, b.opts.Image, b.opts.HelperBinary})
	require.NoError(t, err)
	return string(text)
}

func fromDescription(text string) (sandbox.Backend, error) {
	var d [4]string
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, err
	}
	return New(Options{StateDir: d[0], HostID: d[1], Image: d[2], HelperBinary: d[3]})
}

// within runs a program in a container past the helper and returns what it printed.
func (b *Backend) within(t *testing.T, id string, argv ...string) string {
	t.Helper()
	e, err := b.engine()
	require.NoError(t, err)
	made, err := e.ContainerExecCreate(t.Context(), b.names(id).container, container.ExecOptions{
		User: hostIdentity().String(), Cmd: argv, AttachStdout: true, AttachStderr: true,
	})
	require.NoError(t, err)
	conn, err := e.ContainerExecAttach(t.Context(), made.ID, container.ExecAttachOptions{})
	require.NoError(t, err)
	defer conn.Close()
	var out bytes.Buffer
	_, err = stdcopy.StdCopy(&out, &out, conn.Reader)
	require.NoError(t, err)
	return strings.TrimSpace(out.String())
}

func (b *Backend) processes(t *testing.T, text string) (n int) {
	t.Helper()
	e, err := b.engine()
	require.NoError(t, err)
	for _, c := range b.containers(t, "") {
		top, err := e.ContainerTop(t.Context(), c.ID, []string{"-eo", "pid,args"})
		if err != nil {
			continue // it does not run
		}
		for _, process := range top.Processes {
			if strings.Contains(strings.Join(process[1:], " "), text) {
				n++
			}
		}
	}
	return n
}

func (b *Backend) usage(t *testing.T, ref sandbox.Ref) (u sandboxtest.Usage) {
	t.Helper()
	pid := b.within(t, ref.ID, "pgrep", "-f", "serve --state")
	for line := range strings.Lines(b.within(t, ref.ID, "cat", "/proc/"+pid+"/status")) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			u.Memory = number(t, strings.Fields(rest)[0]) << 10
		}
	}
	u.Disk = number(t, strings.Fields(b.within(t, ref.ID, "du", "-sb", stateDir))[0])
	return u
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

func (b *Backend) gone(t *testing.T, ref sandbox.Ref) {
	t.Helper()
	require.Empty(t, b.containers(t, ref.ID))
	e, err := b.engine()
	require.NoError(t, err)
	volumes, err := e.VolumeList(context.WithoutCancel(t.Context()), volume.ListOptions{Filters: b.ours(ref.ID)})
	require.NoError(t, err)
	require.Empty(t, volumes.Volumes)
	_, err = os.Stat(b.stateDir(ref.ID))
	require.ErrorIs(t, err, os.ErrNotExist)
}
