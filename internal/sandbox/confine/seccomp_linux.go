// This file builds the seccomp filter: system calls that no build or test needs and through which sandboxes are left.

package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BPF instructions, and offsets into what the kernel shows a filter (little-endian processors only).
const (
	bpfLoad   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	bpfEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfAtMost = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K // jumps when at least
	bpfAnySet = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	bpfAnd    = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	bpfReturn = unix.BPF_RET | unix.BPF_K

	dataCall = 0
	dataArch = 4
	dataArg0 = 16
	dataArg1 = 24
	dataArg2 = 32
	dataArg3 = 40

	retAllow = 0x7fff0000
	retErrno = 0x00050000

	socketTypeMask = 0xf
	newNamespaces  = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
)

// absent are refused as if the kernel did not have them, since programs then do without.
var absent = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // its operations pass no filter
	unix.SYS_CLONE3,  // its flags cannot be looked at; libraries fall back to clone
	unix.SYS_OPENAT2, // nor can its mode; programs fall back to openat
}

// forbidden are refused: other file trees, namespaces, keys that all sessions of a user share, the kernel itself.
var forbidden = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_CHROOT,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEXEC_LOAD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// families of sockets for commands that have a network of some kind.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// filter collects instructions.
type filter []unix.SockFilter

func (f *filter) add(code uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf})
}

func (f *filter) load(offset uint32) { f.add(bpfLoad, offset, 0, 0) }
func (f *filter) allow()             { f.add(bpfReturn, retAllow, 0, 0) }
func (f *filter) fail(e unix.Errno)  { f.add(bpfReturn, retErrno|uint32(e), 0, 0) }
func (f *filter) failAll(calls []uint32, e unix.Errno) {
	for _, n := range calls {
		f.add(bpfEqual, n, 0, 1)
		f.fail(e)
	}
}

// when adds what then adds for one system call only; its last instruction must return.
func (f *filter) when(call uint32, then func(*filter)) {
	var inner filter
	then(&inner)
	f.add(bpfEqual, call, 0, uint8(len(inner)))
	*f = append(*f, inner...)
}

// newFilter builds the filter of the jail for this processor.
func (j Jail) newFilter(arch uint32) filter {
	var f filter
	f.load(dataArch)
	f.add(bpfEqual, arch, 1, 0)
	f.fail(unix.ENOSYS) // programs for another processor: their numbers mean other calls
	f.load(dataCall)
	if arch == unix.AUDIT_ARCH_X86_64 {
		f.add(bpfAtMost, 0x40000000, 0, 1) // the x32 numbers
		f.fail(unix.ENOSYS)
	}
	for _, calls := range [][]modeCall{modeCalls, modeCallsHere} { // first, as programs open files all the time
		for _, c := range calls {
			f.when(c.call, c.refuse)
		}
	}
	f.failAll(absent, unix.ENOSYS)
	f.failAll(forbidden, unix.EPERM)
	f.failAll(forbiddenHere, unix.EPERM)
	for _, call := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		f.when(call, noNamespaces)
	}
	if j.Method.Strong() || j.Network {
		f.when(unix.SYS_SOCKET, j.someSockets)
	} else {
		f.when(unix.SYS_SOCKET, func(g *filter) { g.fail(unix.EACCES) })
	}
	if !j.Method.Strong() {
		f.when(unix.SYS_SOCKETPAIR, noDatagramPairs)
	}
	f.allow()
	return f
}

func noNamespaces(f *filter) {
	f.load(dataArg0)
	f.add(bpfAnySet, newNamespaces, 0, 1)
	f.fail(unix.EPERM)
	f.allow()
}

// someSockets allows the usual families. Unix sockets lead to other services where the file tree is the host's.
func (j Jail) someSockets(f *filter) {
	f.load(dataArg0)
	for _, family := range families {
		if family == unix.AF_UNIX && !j.Method.Strong() {
			continue
		}
		f.add(bpfEqual, family, 0, 1)
		f.allow()
	}
	f.fail(unix.EACCES)
}

// noDatagramPairs refuses pairs that can be connected anew, to a service; stream pairs cannot.
func noDatagramPairs(f *filter) {
	f.load(dataArg1)
	f.add(bpfAnd, socketTypeMask, 0, 0)
	f.add(bpfEqual, unix.SOCK_DGRAM, 0, 1)
	f.fail(unix.EACCES)
	f.allow()
}

// seccomp puts the calling thread, and what it starts, under the filter. It needs no_new_privs.
func (j Jail) seccomp() error {
	if auditArch == 0 {
		return fmt.Errorf("filter system calls: this processor is not supported")
	}
	f := j.newFilter(auditArch)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}
