// This file tells what a descriptor of a process is: the command's input, something within the command, or anything else.

package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// inputFile identifies the descriptor that a command's input comes from, whoever has it open under whatever number. Its zero
// value is that of a command without input.
type inputFile struct {
	dev, ino uint64
	terminal uint64 // device number, 0 for a pipe
}

// identify returns what f is; for a pipe both ends are the same.
func identify(f *os.File, tty bool) (inputFile, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return inputFile{}, err
	}
	if tty {
		return inputFile{terminal: st.Rdev}, nil
	}
	return inputFile{dev: st.Dev, ino: st.Ino}, nil
}

// own are the names of descriptors through which only the command itself can wake a thread: what it forked, or its threads.
var own = []string{"pipe:[", "anon_inode:[eventfd]", "anon_inode:[signalfd]", "anon_inode:[io_uring]", "anon_inode:[pidfd]", "pidfd:["}

// descriptor tells what a descriptor is to who sleeps on it.
func (p sleeper) descriptor(fd int) sleep {
	path := filepath.Join(p.dir, "fd", strconv.Itoa(fd))
	var st unix.Stat_t
	name, err := os.Readlink(path)
	if err != nil || unix.Stat(path, &st) != nil {
		return onOther
	}
	if p.in.is(st) {
		return onInput
	}
	for _, prefix := range own {
		if strings.HasPrefix(name, prefix) {
			return onOwn
		}
	}
	if isTerminal(st) || p.isPair(name) {
		return onOwn
	}
	return onOther
}

// unreadable reports whether a descriptor is the writing end of a pipe. Who waits for something to read from it takes it for a
// terminal: vi does so with its standard error when its input has ended.
func (p sleeper) unreadable(fd int) bool {
	path := filepath.Join(p.dir, "fd", strconv.Itoa(fd))
	var link unix.Stat_t
	name, err := os.Readlink(path)
	if err != nil || unix.Lstat(path, &link) != nil {
		return false
	}
	return strings.HasPrefix(name, "pipe:[") && link.Mode&unix.S_IRUSR == 0
}

// Device numbers of terminals: see Documentation/admin-guide/devices.txt of Linux.
const (
	majorTTY  = 5 // /dev/tty, /dev/ptmx
	minorTTY  = 0
	minorPtmx = 2
	firstPty  = 136
	lastPty   = 143
)

// is reports whether a descriptor is the command's input. A command has only one controlling terminal, its own.
func (in inputFile) is(st unix.Stat_t) bool {
	if in.terminal == 0 {
		return st.Dev == in.dev && st.Ino == in.ino
	}
	device := st.Mode&unix.S_IFMT == unix.S_IFCHR
	return device && (st.Rdev == in.terminal || unix.Major(st.Rdev) == majorTTY && unix.Minor(st.Rdev) == minorTTY)
}

// isTerminal reports whether a descriptor is one end of another pseudoterminal, at whose other end is a process of the same
// command.
func isTerminal(st unix.Stat_t) bool {
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	major, minor := unix.Major(st.Rdev), unix.Minor(st.Rdev)
	return major >= firstPty && major <= lastPty || major == majorTTY && minor == minorPtmx
}

// isPair reports whether a descriptor is a connected unix socket without a name: one of a pair.
func (p sleeper) isPair(name string) bool {
	inode, ok := strings.CutPrefix(name, "socket:[")
	if !ok {
		return false
	}
	const connected, columns, stateAt, inodeAt = "03", 7, 5, 6
	table, err := os.ReadFile(filepath.Join(p.dir, "net/unix"))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(table) {
		f := strings.Fields(string(line))
		if len(f) >= columns && f[inodeAt] == strings.TrimSuffix(inode, "]") {
			return len(f) == columns && f[stateAt] == connected
		}
	}
	return false
}
