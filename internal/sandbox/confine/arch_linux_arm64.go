// This file names what seccomp must know of 64-bit ARM.

package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var forbiddenHere = []uint32{unix.SYS_NFSSERVCTL}

var modeCallsHere []modeCall // it has only the newer ones
