// This file names what seccomp must know of 64-bit x86.

package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var forbiddenHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_NFSSERVCTL, unix.SYS_KEXEC_FILE_LOAD}

// modeCallsHere are the older ways to give a file its mode.
var modeCallsHere = []modeCall{
	{call: unix.SYS_CHMOD, mode: dataArg1, bits: unix.S_ISUID},
	{call: unix.SYS_MKNOD, mode: dataArg1, bits: setUserOrGroup},
	{call: unix.SYS_CREAT, mode: dataArg1, bits: setUserOrGroup},
	{call: unix.SYS_OPEN, mode: dataArg2, bits: setUserOrGroup, flags: dataArg1},
}
