// This file keeps commands from leaving programs that run with the rights of the user, whoever starts them.
//
// The set-group-ID bit is looked at only where a file is made. In chmod it must pass: the filter cannot tell a directory
// from a file, and in a tree that a group shares every chmod of a directory, also one that means other bits, carries it.

package confine

import "golang.org/x/sys/unix"

const (
	setUserOrGroup = unix.S_ISUID | unix.S_ISGID
	makesFile      = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY // flags with which open heeds a mode
)

// modeCall is a system call that is given the mode of a file.
type modeCall struct {
	call  uint32
	mode  uint32 // offset of the mode
	bits  uint32 // what must not be in it
	flags uint32 // offset of the flags that say whether the mode counts; 0: it does
}

// modeCalls are those that all processors have. openat2 is absent: its mode lies in memory.
var modeCalls = []modeCall{
	{call: unix.SYS_OPENAT, mode: dataArg3, bits: setUserOrGroup, flags: dataArg2},
	{call: unix.SYS_FCHMOD, mode: dataArg1, bits: unix.S_ISUID},
	{call: unix.SYS_FCHMODAT, mode: dataArg2, bits: unix.S_ISUID},
	{call: unix.SYS_FCHMODAT2, mode: dataArg2, bits: unix.S_ISUID},
	{call: unix.SYS_MKNODAT, mode: dataArg2, bits: setUserOrGroup},
}

// refuse adds the instructions that end the call, one way or the other.
func (c modeCall) refuse(f *filter) {
	if c.flags != 0 {
		f.load(c.flags)
		f.add(bpfAnySet, makesFile, 1, 0)
		f.allow()
	}
	f.load(c.mode)
	f.add(bpfAnySet, c.bits, 0, 1)
	f.fail(unix.EPERM)
	f.allow()
}
