// This file restricts a thread, and what it starts, by Landlock: the kernel checks every path against what was allowed.

package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leastLandlock is the version that alone is a confinement: earlier ones cannot keep files from being truncated.
const leastLandlock = 3

// Rights on files, in the kernel's order.
const (
	fsExecute = 1 << iota
	fsWriteFile
	fsReadFile
	fsReadDir
	_ // remove directory
	_ // remove file
	_ // make character device
	_ // make directory
	_ // make regular file
	_ // make socket
	_ // make FIFO
	_ // make block device
	fsMakeSym
	fsRefer    // version 2
	fsTruncate // version 3
	fsIoctlDev // version 5
	_
)

const (
	rightsRead     = fsExecute | fsReadFile | fsReadDir
	rightsFile     = fsExecute | fsWriteFile | fsReadFile | fsTruncate | fsIoctlDev
	rightsTerminal = rightsRead | fsWriteFile | fsIoctlDev

	scopeAbstractSockets = 1 // version 6
	scopeSignals         = 2
	netBindConnect       = 3 // version 4

	resolveUnix = 1 << 16 // version 9: connecting to sockets by path
)

var (
	harmlessDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}
	terminals       = []string{"/dev/pts"}
)

// landlockVersion returns the version of the kernel's Landlock, 0 for none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// rights returns all rights on files that the version knows.
func rights(version int) uint64 {
	all := uint64(fsMakeSym)<<1 - 1
	if version >= 2 {
		all |= fsRefer
	}
	if version >= 3 {
		all |= fsTruncate
	}
	if version >= 5 {
		all |= fsIoctlDev
	}
	if version >= 9 {
		all |= resolveUnix
	}
	return all
}

// ruleset is a Landlock ruleset under construction.
type ruleset struct {
	fd  int
	all uint64
}

func newRuleset(version int, network bool) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights(version)}
	size := uintptr(8)
	if version >= 4 {
		size = 16
		if !network {
			attr.Handled_access_net = netBindConnect
		}
	}
	if version >= scopedVersion {
		size = 24
		attr.Scoped = scopeAbstractSockets | scopeSignals
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("make Landlock rules: %w", errno)
	}
	return &ruleset{fd: int(fd), all: attr.Handled_access_fs}, nil
}

// allow grants rights on and below path. What does not exist needs no rule.
func (r *ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s for a Landlock rule: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile | resolveUnix
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.all, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("add a Landlock rule for %s: %w", path, errno)
	}
	return nil
}

// enforce puts the calling thread under the rules.
func (r *ruleset) enforce() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("enforce Landlock rules: %w", errno)
	}
	return nil
}

// landlock puts the calling thread into the jail as far as Landlock knows how.
func (j Jail) landlock(version int) error {
	ownNetwork := j.Method.Strong() // there, an own network keeps them in, with a loopback
	r, err := newRuleset(version, j.Network || ownNetwork)
	if err != nil {
		return err
	}
	defer unix.Close(r.fd)
	for path, rights := range j.grants(r.all) {
		if err := r.allow(path, rights); err != nil {
			return err
		}
	}
	return r.enforce()
}

// grants lists what is allowed, by path.
func (j Jail) grants(all uint64) map[string]uint64 {
	granted := map[string]uint64{}
	grant := func(rights uint64, paths ...string) {
		for _, p := range paths {
			granted[p] |= rights
		}
	}
	if j.Method.Strong() {
		grant(rightsRead, "/")
	} else {
		grant(rightsRead, readable("/", append(j.Hide, "/dev"))...)
		grant(rightsRead, j.Read...)
	}
	grant(fsWriteFile|fsReadFile|fsIoctlDev, harmlessDevices...)
	grant(rightsTerminal, terminals...)
	grant(all, j.Write...)
	return granted
}

// readable returns paths that together hold all below dir but what is hidden. The directories above something hidden
// are not among them, so they cannot be listed.
func readable(dir string, hidden []string) (out []string) {
	inside := false
	for _, h := range hidden {
		if within(h, dir) {
			return nil
		}
		inside = inside || within(dir, h)
	}
	if !inside {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 { // what a link leads to is judged where it lies
			out = append(out, readable(filepath.Join(dir, e.Name()), hidden)...)
		}
	}
	return out
}
