// This file tests the helper's command line: one connection over standard input and output, and the sole daemon behind it.

package helper

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/helper/daemon"
	"sandboxagent/internal/sandbox"
)

func TestMain(m *testing.M) {
	if Invoked(os.Args) {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// pipe is the connection of one "stdio" process.
type pipe struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (p *pipe) Close() error {
	_ = p.WriteCloser.Close()
	return p.cmd.Wait()
}

func stdioClient(t *testing.T, state, root string) *client.Client {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	build, err := Build(self)
	require.NoError(t, err)
	return client.New(client.Options{Build: build, Dial: func(context.Context) (io.ReadWriteCloser, error) {
		cmd := exec.Command(self, "stdio", "--state", state, "--root", root)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		return &pipe{out, in, cmd}, cmd.Start()
	}})
}

func TestStdio(t *testing.T) {
	state, root := filepath.Join(t.TempDir(), "state"), t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c := stdioClient(t, state, root)
			defer c.Close()
			if err := c.Start(context.Background(), "a", sandbox.Command{Script: "echo run >> count; echo $PPID"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c := stdioClient(t, state, root)
	defer c.Close()
	st, err := c.Wait(t.Context(), "a", sandbox.Offsets{Stdout: 1 << 20}, time.Minute)
	require.NoError(t, err)
	require.Equal(t, sandbox.StateExited, st.State)
	b, err := os.ReadFile(filepath.Join(root, "count"))
	require.NoError(t, err)
	require.Equal(t, "run\n", string(b))
	require.NoError(t, c.Shutdown(t.Context()))
	require.NoError(t, daemon.AwaitEnd(t.Context(), state))
}

// A helper that does not start is started by another command, made of what is there by then, and not for ever.
func TestStartIsTriedAgain(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	state, root := t.TempDir(), t.TempDir()
	made := 0
	conn, err := daemon.Dial(t.Context(), state, func() (*exec.Cmd, error) {
		made++
		switch made {
		case 1:
			return nil, sandbox.Errorf(sandbox.ClassUnavailable, "start", "a folder is gone")
		case 2:
			return exec.Command("sh", "-c", "echo a folder has gone >&2; exit 1"), nil
		}
		return exec.Command(self, ServeArgs(state, root, 0)...), nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, made)
	require.NoError(t, conn.Close())
	require.NoError(t, client.New(client.Options{Dial: func(context.Context) (io.ReadWriteCloser, error) {
		return daemon.Dial(t.Context(), state, nil)
	}}).Shutdown(t.Context()))
	require.NoError(t, daemon.AwaitEnd(t.Context(), state))

	made = 0
	_, err = daemon.Dial(t.Context(), state, func() (*exec.Cmd, error) {
		made++
		return exec.Command("sh", "-c", "echo it is broken >&2; exit 1"), nil
	})
	require.ErrorContains(t, err, "it is broken")
	require.Equal(t, 10, made)
	made = 0
	_, err = daemon.Dial(t.Context(), state, func() (*exec.Cmd, error) {
		made++
		return nil, sandbox.Errorf(sandbox.ClassNotFound, "start", "the workspace is gone")
	})
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(err))
	require.Equal(t, 1, made)
}

func TestCommandLine(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	build, err := Build(self)
	require.NoError(t, err)
	out, err := exec.Command(self, "build").Output()
	require.NoError(t, err)
	require.Equal(t, build, strings.TrimSpace(string(out)))
	for _, args := range [][]string{{"serve", "--state", "/no/such/dir", "--root", "/"}, {"serve", "--nonsense"}, {"stdio", "--state", "relative"}} {
		out, err := exec.Command(self, args...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "sandbox-helper:")
	}
	require.Equal(t, 1, Main(nil))
	require.Equal(t, 1, Main([]string{"nonsense"}))
	require.False(t, Invoked([]string{"x"}))
	require.False(t, Invoked([]string{"x", "-test.run"}))
}
