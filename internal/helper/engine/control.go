// This file carries orders and reports, with descriptors, between the engine and its supervisors over a socket pair.

package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/helper/wire"
)

const (
	maxControl = 16 << 20 // bytes of one message: arguments and environment of a command
	stdFiles   = 3
)

// order tells a supervisor what to do for run number Run.
type order struct {
	Run  int         `json:"run"`
	Kill bool        `json:"kill,omitempty"` // end the tree of that run; otherwise start it
	Argv []wire.Text `json:"argv,omitempty"`
	Env  []wire.Text `json:"env,omitempty"`
	Dir  wire.Text   `json:"dir,omitempty"`
	TTY  bool        `json:"tty,omitempty"`
}

// The events a supervisor reports of a run, in this order; after evFailed nothing follows.
const (
	evStarted = "started"
	evFailed  = "failed" // could not be spawned
	evExited  = "exited" // the command itself ended; others of its tree may live on
	evGone    = "gone"   // nothing is left of the tree, and the supervisor is free
)

// report is an event of a run.
type report struct {
	Event   string `json:"event"`
	Code    int    `json:"code,omitempty"`
	Signal  int    `json:"signal,omitempty"`
	Left    int    `json:"left,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// control is one end of the socket pair. send may be called concurrently, recv by one goroutine.
type control struct {
	conn *net.UnixConn
	mu   sync.Mutex
}

func newControl(f *os.File) (*control, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("open control socket: not a unix socket")
	}
	return &control{conn: u}, nil
}

func (c *control) send(v any, files ...*os.File) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode control message: %w", err)
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = syscall.UnixRights(fds...)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, _, err := c.conn.WriteMsgUnix(head, rights, nil); err != nil {
		return fmt.Errorf("send control message: %w", err)
	}
	if _, err := c.conn.Write(body); err != nil {
		return fmt.Errorf("send control message: %w", err)
	}
	return nil
}

// recv decodes the next message into v and returns the descriptors that came with it.
func (c *control) recv(v any) ([]int, error) {
	var head [4]byte
	oob := make([]byte, unix.CmsgSpace(stdFiles*4))
	n, oobn, _, _, err := c.conn.ReadMsgUnix(head[:], oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	if _, err := io.ReadFull(c.conn, head[n:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxControl {
		return nil, fmt.Errorf("control message of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.conn, body); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return nil, fmt.Errorf("decode control message: %w", err)
	}
	return parseRights(oob[:oobn])
}

func parseRights(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) != 1 {
		return nil, fmt.Errorf("parse control rights: %w", err)
	}
	fds, err := syscall.ParseUnixRights(&msgs[0])
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return fds, err
}
