// This file says that system calls cannot be filtered on other processors.

//go:build linux && !amd64 && !arm64

package confine

const auditArch = 0

var forbiddenHere []uint32

var modeCallsHere []modeCall
