// This file tells whether a process tree waits for the command's input, from what Linux says of each thread: the system call
// it sleeps in, and what the descriptors in it are. It must never take a server or a timer for a question, so whatever is
// not known to need the input counts as something that may go on without it.

package engine

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxAsleep  = 64   // processes of a tree that are looked at; a larger one does not ask questions
	maxWatched = 1024 // descriptors of one call
)

var errMany = errors.New("more descriptors than are looked at")

// sleep says what keeps a thread asleep.
type sleep int

const (
	onOther sleep = iota // something that may come without input, or nobody can tell
	onOwn                // something within the command itself
	onInput              // the command's input, or one that it has not got
)

// asleep reports whether everything below the supervisor sleeps, until the input brings something.
func asleep(supervisor int, in inputFile) bool {
	procs := tree(supervisor, 0, false)
	if len(procs) == 0 || len(procs) > maxAsleep {
		return false
	}
	asks := false
	for _, pid := range procs {
		p := sleeper{dir: "/proc/" + strconv.Itoa(pid), in: in}
		switch p.process() {
		case onOther:
			return false
		case onInput:
			asks = true
		}
	}
	return asks
}

// sleeper is one process that is looked at.
type sleeper struct {
	dir string // in /proc
	in  inputFile
}

// process looks at every thread.
func (p sleeper) process() sleep {
	threads, err := os.ReadDir(filepath.Join(p.dir, "task"))
	if err != nil || len(threads) == 0 {
		return onOther
	}
	all := onOwn
	for _, t := range threads {
		switch p.thread(t.Name()) {
		case onOther:
			return onOther
		case onInput:
			all = onInput
		}
	}
	return all
}

// thread looks at the system call that a thread is in.
func (p sleeper) thread(id string) sleep {
	text, err := os.ReadFile(filepath.Join(p.dir, "task", id, "syscall"))
	if err != nil {
		return onOther
	}
	call, ok := parseCall(string(text))
	if !ok {
		return onOther // it runs
	}
	switch call.number {
	case unix.SYS_READ, unix.SYS_READV:
		return p.descriptor(int(int32(call.args[0])))
	case unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_FUTEX, unix.SYS_RT_SIGSUSPEND:
		return onOwn
	case unix.SYS_RT_SIGTIMEDWAIT:
		if call.args[2] == 0 { // vim has a thread that does so
			return onOwn
		}
	}
	w, ok := watchOf(call)
	if !ok || w.timed {
		return onOther
	}
	return p.watch(w)
}

// sysCall is a system call that a thread sleeps in.
type sysCall struct {
	number uint64
	args   [6]uint64
}

// parseCall reads a line of /proc/PID/syscall: the number and six arguments, or one word for a thread that runs.
func parseCall(text string) (call sysCall, ok bool) {
	fields := strings.Fields(text)
	if len(fields) < 1+len(call.args) {
		return call, false
	}
	number, err := strconv.ParseUint(fields[0], 10, 64)
	if err != nil {
		return call, false
	}
	call.number = number
	for i := range call.args {
		if call.args[i], err = strconv.ParseUint(fields[1+i], 0, 64); err != nil {
			return call, false
		}
	}
	return call, true
}

// watch is a system call that sleeps on many descriptors.
type watch struct {
	how   watchKind
	call  sysCall
	timed bool // it wakes by itself
}

type watchKind int

const (
	byPoll watchKind = iota
	bySelect
	byEpoll
)

// watchOf tells what kind of watch a call is.
func watchOf(c sysCall) (watch, bool) {
	const forever = -1
	switch {
	case c.number == unix.SYS_PPOLL:
		return watch{byPoll, c, c.args[2] != 0}, true
	case c.number == unix.SYS_PSELECT6, c.number == sysSelect:
		return watch{bySelect, c, c.args[4] != 0}, true
	case c.number == sysPoll:
		return watch{byPoll, c, int32(c.args[2]) != forever}, true
	case c.number == unix.SYS_EPOLL_PWAIT, c.number == sysEpollWait:
		return watch{byEpoll, c, int32(c.args[3]) != forever}, true
	case c.number == unix.SYS_EPOLL_PWAIT2:
		return watch{byEpoll, c, c.args[3] != 0}, true
	}
	return watch{}, false
}

// watch looks at the descriptors that are watched.
func (p sleeper) watch(w watch) sleep {
	var fds []watched
	var err error
	switch w.how {
	case byPoll:
		fds, err = p.polled(w.call)
	case bySelect:
		fds, err = p.selected(w.call)
	case byEpoll:
		fds, err = p.epolled(w.call)
	}
	if err != nil {
		return onOther
	}
	all := onOwn
	for _, f := range fds {
		on := p.descriptor(f.fd)
		if on == onOther {
			return onOther
		}
		if f.reads && (on == onInput || p.unreadable(f.fd)) {
			all = onInput
		}
	}
	return all
}

// watched is a descriptor in a watch.
type watched struct {
	fd    int
	reads bool // it wakes when something can be read
}

// polled reads the array of a poll.
func (p sleeper) polled(c sysCall) ([]watched, error) {
	const size = 8 // of struct pollfd
	if c.args[1] > maxWatched {
		return nil, errMany
	}
	data, err := p.memory(c.args[0], c.args[1]*size)
	if err != nil {
		return nil, err
	}
	var out []watched
	for ; len(data) >= size; data = data[size:] {
		fd, events := int32(binary.NativeEndian.Uint32(data)), binary.NativeEndian.Uint16(data[4:])
		if fd >= 0 && events != 0 {
			out = append(out, watched{int(fd), events&unix.POLLIN != 0})
		}
	}
	return out, nil
}

// selected reads the sets of a select.
func (p sleeper) selected(c sysCall) ([]watched, error) {
	n := c.args[0]
	if n > maxWatched {
		return nil, errMany
	}
	var out []watched
	for set, at := range c.args[1:4] {
		if at == 0 || n == 0 {
			continue
		}
		data, err := p.memory(at, (n+63)/64*8)
		if err != nil {
			return nil, err
		}
		for fd := range int(n) {
			if binary.NativeEndian.Uint64(data[fd/64*8:])>>(fd%64)&1 != 0 {
				out = append(out, watched{fd, set == 0})
			}
		}
	}
	return out, nil
}

// memory reads from a process.
func (p sleeper) memory(at, n uint64) ([]byte, error) {
	f, err := os.Open(filepath.Join(p.dir, "mem"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, n)
	if n == 0 {
		return data, nil
	}
	_, err = f.ReadAt(data, int64(at))
	return data, err
}

// epolled reads what an epoll descriptor watches.
func (p sleeper) epolled(c sysCall) ([]watched, error) {
	info, err := os.ReadFile(filepath.Join(p.dir, "fdinfo", strconv.Itoa(int(int32(c.args[0])))))
	if err != nil {
		return nil, err
	}
	var out []watched
	for line := range strings.Lines(string(info)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[0] != "tfd:" || fields[2] != "events:" {
			continue
		}
		fd, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, err
		}
		events, err := strconv.ParseUint(fields[3], 16, 32)
		if err != nil {
			return nil, err
		}
		if events&(unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLPRI) != 0 {
			out = append(out, watched{fd, events&unix.EPOLLIN != 0})
		}
	}
	return out, nil
}
