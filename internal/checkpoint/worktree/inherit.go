// This file gives what a restore brings what a checkpoint does not hold and the user would miss.
//
// A file or link that replaces another gets its owner and group, and a file that replaces a file its extended attributes
// of the user and its access control list (on Linux user.* and system.posix_acl_access; elsewhere all there are). What is
// new belongs, when root restores, to whom its directory belongs; otherwise to whom the system gives it. Owners are kept
// as far as the one who restores may give files away. Left out on purpose: setuid, setgid and sticky bits, capabilities
// and security labels, which are not to come back with content that somebody else may have written. Where only
// permissions differ, the file itself stays with all it has.

package worktree

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxagent/internal/checkpoint/tree"
)

// owner is whom an entry belongs to.
type owner struct{ uid, gid int }

func ownerOf(st *unix.Stat_t) owner { return owner{int(st.Uid), int(st.Gid)} }

func ownerAt(dir int, name string) (owner, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return ownerOf(&st), err
}

// give changes the owner of an entry as far as that is permitted: else at least the group.
func give(dir int, name string, to owner) error {
	is, err := ownerAt(dir, name)
	if err != nil || is == to {
		return err
	}
	err = unix.Fchownat(dir, name, to.uid, to.gid, unix.AT_SYMLINK_NOFOLLOW)
	if notPermitted(err) && is.gid != to.gid {
		err = unix.Fchownat(dir, name, -1, to.gid, unix.AT_SYMLINK_NOFOLLOW)
	}
	if notPermitted(err) {
		return nil
	}
	return err
}

// notPermitted tells of errors by which a system or file system declines to keep something; EINVAL is that of owners that
// do not exist in a namespace.
func notPermitted(err error) bool {
	for _, e := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// settleIn gives something new to the owner of the directory it comes into, when root brings it.
func settleIn(in, dir int, name string) {
	if os.Geteuid() != 0 {
		return
	}
	var st unix.Stat_t
	if again(func() error { return unix.Fstat(in, &st) }) == nil {
		_ = give(dir, name, ownerOf(&st)) // it is new: nobody has lost it
	}
}

// inherit prepares everything that replaces something. It comes before the change is made: what is staged is complete
// from then on, whatever happens.
func (n *change) inherit() error {
	f := n.finder()
	defer f.close()
	for i := range n.Steps {
		s := &n.Steps[i]
		if !s.brings() || s.Link != "" || s.Before == nil || s.Before.Kind == tree.Dir {
			continue
		}
		dir, name, err := f.find(s.Path)
		if err == nil {
			err = n.inheritFrom(dir, name, s, strconv.Itoa(i))
		}
		if err != nil && !gone(err) { // else the step will find out
			return fileError(s.Path, err)
		}
	}
	return nil
}

func (n *change) inheritFrom(dir int, name string, s *Step, staged string) error {
	from, err := ownerAt(dir, name)
	if err != nil {
		return err
	}
	if err := give(n.dir, staged, from); err != nil {
		return err
	}
	if s.Before.Kind != tree.File || s.After.Kind != tree.File {
		return nil
	}
	old, err := openFile(dir, name)
	if err != nil {
		if errors.Is(err, syscall.EACCES) {
			return nil // nor can the step compare it
		}
		return err
	}
	defer closeFd(old)
	return n.copyAttributes(old, staged, uint32(s.After.Mode))
}

// copyAttributes gives a staged file the extended attributes of an open one, and its permissions again: an access control
// list has its own idea of them.
func (n *change) copyAttributes(from int, staged string, mode uint32) error {
	names, err := attributes(from)
	if err != nil || len(names) == 0 {
		return err
	}
	if err := chmodAt(n.dir, staged, 0o600); err != nil {
		return err
	}
	to, err := open(n.dir, staged, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer closeFd(to)
	for _, name := range names {
		if err := copyAttribute(from, to, name); err != nil && !notPermitted(err) {
			return err
		}
	}
	if err := unix.Fchmod(to, mode); err != nil || n.many {
		return err
	}
	return unix.Fsync(to)
}

const maxAttribute = 64 << 10 // bytes of a value, and of all names together

// attributes lists the extended attributes that are kept.
func attributes(fd int) ([]string, error) {
	n, err := unix.Flistxattr(fd, nil)
	if notPermitted(err) || err == nil && n == 0 {
		return nil, nil
	}
	b := make([]byte, maxAttribute)
	if n, err = unix.Flistxattr(fd, b); err != nil {
		return nil, err
	}
	var kept []string
	for len(b[:n]) > 0 {
		name := unix.ByteSliceToString(b[:n])
		b, n = b[len(name)+1:], n-len(name)-1
		if keepsAttribute(name) {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

func copyAttribute(from, to int, name string) error {
	b := make([]byte, maxAttribute)
	n, err := unix.Fgetxattr(from, name, b)
	if err != nil {
		if errors.Is(err, noAttribute) || errors.Is(err, unix.ERANGE) {
			return nil // it went away, or is of no kind that users make
		}
		return err
	}
	return unix.Fsetxattr(to, name, b[:n], 0)
}
