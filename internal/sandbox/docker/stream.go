// This file is the way to the helper: the standard streams of a process that the engine runs in the container.

package docker

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"sandboxagent/internal/sandbox"
)

const maxComplaint = 1 << 10 // bytes kept of what the process says on its standard error

// attach runs the helper's bridge in the container and returns the stream to the helper.
func (x *box) attach(ctx context.Context, e *engine, c container.InspectResponse, home string) (io.ReadWriteCloser, error) {
	const op = "start helper"
	create, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	argv := []string{x.program.path(), "stdio", "--state", stateDir, "--root", root}
	if x.b.opts.Idle > 0 {
		argv = append(argv, "--idle", x.b.opts.Idle.String())
	}
	made, err := e.ContainerExecCreate(create, c.ID, container.ExecOptions{
		User: hostIdentity().String(), WorkingDir: "/", Cmd: argv, Env: environment(c.Config.Env, home),
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		if missing(err) || taken(err) { // stopped in between
			return nil, &sandbox.Error{Class: sandbox.ClassUnavailable, Op: op, Message: "the container was stopped while the helper started", Err: err}
		}
		return nil, e.failed(op, err)
	}
	conn, err := e.ContainerExecAttach(create, made.ID, container.ExecAttachOptions{})
	if err != nil {
		return nil, e.failed(op, err)
	}
	return newStream(conn), nil
}

// stream carries bytes to and from a process in a container.
type stream struct {
	conn types.HijackedResponse
	out  *io.PipeReader
	once sync.Once
}

func newStream(conn types.HijackedResponse) *stream {
	out, in := io.Pipe()
	go func() {
		var said complaint
		watched := &firstWrite{w: in}
		_, err := stdcopy.StdCopy(watched, &said, conn.Reader)
		if err == nil {
			err = io.EOF
		}
		if text := watched.refusal(); text != "" {
			said.Buffer.Reset()
			_, _ = said.Write([]byte(text))
		}
		if said.Len() > 0 {
			err = &sandbox.Error{
				Class: sandbox.ClassUnavailable, Op: "start helper", Err: err,
				Message: "the connection into the container ended: " + strings.TrimSpace(said.String()),
			}
		}
		_ = in.CloseWithError(err)
	}()
	return &stream{conn: conn, out: out}
}

// Read returns io.EOF, or what the process complained of, when it has ended.
func (s *stream) Read(p []byte) (int, error) { return s.out.Read(p) }

func (s *stream) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

// Close ends the process, not the helper behind it.
func (s *stream) Close() error {
	s.once.Do(func() {
		_ = s.out.Close()
		s.conn.Close()
	})
	return nil
}

// complaint keeps the beginning of what is written.
type complaint struct{ bytes.Buffer }

func (c *complaint) Write(p []byte) (int, error) {
	c.Buffer.Write(p[:min(len(p), maxComplaint-c.Len())])
	return len(p), nil
}

// firstWrite holds back what an engine says in the process's place when it could not run it.
type firstWrite struct {
	w       io.Writer
	begun   bool
	refused complaint
}

const refusalPrefix = "OCI runtime exec failed"

func (f *firstWrite) Write(p []byte) (int, error) {
	if !f.begun && bytes.HasPrefix(p, []byte(refusalPrefix)) || f.refused.Len() > 0 {
		return f.refused.Write(p)
	}
	f.begun = true
	return f.w.Write(p)
}

func (f *firstWrite) refusal() string { return f.refused.String() }
