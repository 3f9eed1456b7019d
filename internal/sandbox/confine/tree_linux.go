// This file makes the planned file tree with the kernel's own means. Sources and targets are opened without following any
// link, so that what a command swaps in the workspace meanwhile leads nowhere else.

package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	openTreeClone   = 1
	moveFromItself  = 4    // MOVE_MOUNT_F_EMPTY_PATH
	moveOntoItself  = 0x40 // MOVE_MOUNT_T_EMPTY_PATH
	inMemory        = "mode=0755,size=64k"
	sharedMemory    = "mode=1777,size=50%"
	ownTerminals    = "newinstance,ptmxmode=0666,mode=620"
	maxProcesses    = MaxProcesses
	pidMaxPerKernel = 6<<8 | 14 // the first kernel with a limit of their own for every namespace
)

// What a new /proc shows of the machine as a whole: commands of root may read it, or not even that.
var (
	processReadOnly = []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"}
	processHidden   = []string{"kcore", "keys", "timer_list", "kmsg", "latency_stats"}
	deviceLinks     = map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	}
	deviceFiles = []string{"null", "zero", "full", "random", "urandom", "tty"}
)

// inTree is how targets are opened.
var inTree = unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS}

// tree is a root under construction.
type tree struct {
	root     int            // descriptor of the new "/"
	sources  map[string]int // detached mounts, by path and kind
	writable []string       // directories in which commands may change permissions
	ours     []string       // directories that are to be read-only once all is in them
}

// enter makes the plan's tree and the root of the calling process.
func enter(p plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	t := &tree{sources: map[string]int{}}
	for _, m := range p.Mounts { // before anything is covered
		if err := t.openSource(m); err != nil {
			return err
		}
	}
	if err := t.makeRoot(); err != nil {
		return err
	}
	for _, m := range p.Mounts {
		if err := t.mount(m); err != nil {
			return fmt.Errorf("mount %s: %w", m.Target, err)
		}
	}
	for _, dir := range t.ours {
		if err := t.close(dir); err != nil {
			return fmt.Errorf("make %s read-only: %w", dir, err)
		}
	}
	return t.pivot()
}

func (t *tree) openSource(m mount) error {
	switch m.Kind {
	case bind, readOnly:
		return t.clone(m.Source, m.Kind == readOnly)
	case null, process:
		return t.clone(os.DevNull, true)
	case devices:
		for _, name := range deviceFiles {
			if err := t.clone("/dev/"+name, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func sourceKey(path string, ro bool) string { return strconv.FormatBool(ro) + path }

// clone detaches a copy of the mounts at path.
func (t *tree) clone(path string, ro bool) error {
	at, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(at)
	fd, err := cloneMount(at, "", ro)
	if err != nil {
		return fmt.Errorf("bind %s: %w", path, err)
	}
	t.sources[sourceKey(path, ro)] = fd
	return nil
}

func cloneMount(at int, path string, ro bool) (int, error) {
	fd, err := unix.OpenTree(at, path, openTreeClone|unix.O_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if ro {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	return fd, unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
}

// makeRoot attaches a read-only copy of everything to a place that is not otherwise needed.
func (t *tree) makeRoot() error {
	fd, err := cloneMount(unix.AT_FDCWD, "/", true)
	if err != nil {
		return fmt.Errorf("copy the file tree: %w", err)
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, "/proc", moveFromItself); err != nil {
		return fmt.Errorf("attach the file tree: %w", err)
	}
	t.root = fd
	return nil
}

// at opens a target in the new tree, making what is missing of it: a directory, or a file.
func (t *tree) at(target string, dir bool) (int, error) {
	path := "."
	var names []string
	if rel := strings.Trim(target, "/"); rel != "" {
		names = strings.Split(rel, "/")
	}
	fd, err := unix.Openat2(t.root, path, &inTree)
	for i, name := range names {
		if err != nil {
			return -1, err
		}
		parent := fd
		path = filepath.Join(path, name)
		fd, err = unix.Openat2(t.root, path, &inTree)
		if errors.Is(err, fs.ErrNotExist) {
			if err = create(parent, name, dir || i < len(names)-1); err == nil {
				fd, err = unix.Openat2(t.root, path, &inTree)
			}
		}
		_ = unix.Close(parent)
	}
	return fd, err
}

func create(parent int, name string, dir bool) error {
	if dir {
		return unix.Mkdirat(parent, name, 0o755)
	}
	fd, err := unix.Openat(parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func (t *tree) mount(m mount) error {
	switch m.Kind {
	case bind:
		t.writable = append(t.writable, m.Target)
		return t.attach(m.Source, false, m.Target)
	case readOnly:
		return t.attach(m.Source, true, m.Target)
	case null:
		return t.hide(m.Target, func(at int) error { return t.attachAt(os.DevNull, true, at) })
	case cover:
		return t.hide(m.Target, func(at int) error {
			t.ours = append(t.ours, m.Target)
			return freshAt("tmpfs", at, inMemory)
		})
	case shared:
		return t.fresh("tmpfs", m.Target, sharedMemory)
	case devices:
		return t.devices(m.Target)
	case process:
		return t.process(m.Target)
	}
	return fmt.Errorf("there is no mount of kind %q", m.Kind)
}

// attach binds a cloned source. A source that is needed twice is cloned again from its first place.
func (t *tree) attach(source string, ro bool, target string) error {
	var st unix.Stat_t
	if err := unix.Fstat(t.sources[sourceKey(source, ro)], &st); err != nil {
		return err
	}
	to, err := t.at(target, st.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return t.attachAt(source, ro, to)
}

func (t *tree) attachAt(source string, ro bool, to int) error {
	again, err := cloneMount(t.sources[sourceKey(source, ro)], "", ro)
	if err != nil {
		return err
	}
	defer unix.Close(again)
	return unix.MoveMount(again, "", to, "", moveFromItself|moveOntoItself)
}

// fresh mounts a new file system.
func (t *tree) fresh(kind, target, options string) error {
	to, err := t.at(target, true)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return freshAt(kind, to, options)
}

func freshAt(kind string, to int, options string) error {
	mnt, err := newMount(kind, options)
	if err != nil {
		return err
	}
	defer unix.Close(mnt)
	return unix.MoveMount(mnt, "", to, "", moveFromItself|moveOntoItself)
}

// newMount makes a detached mount of a new file system.
func newMount(kind, options string) (int, error) {
	f, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", kind, err)
	}
	defer unix.Close(f)
	for option := range strings.SplitSeq(options, ",") {
		name, value, hasValue := strings.Cut(option, "=")
		switch {
		case option == "":
		case hasValue:
			err = unix.FsconfigSetString(f, name, value)
		default:
			err = unix.FsconfigSetFlag(f, name)
		}
		if err != nil {
			return -1, fmt.Errorf("set %s of %s: %w", option, kind, err)
		}
	}
	if err := unix.FsconfigCreate(f); err != nil {
		return -1, fmt.Errorf("make %s: %w", kind, err)
	}
	return unix.Fsmount(f, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC*btoi(kind == "proc"))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// devices makes a /dev that holds what programs need and no disk.
func (t *tree) devices(target string) error {
	t.ours = append(t.ours, target)
	if err := t.fresh("tmpfs", target, inMemory); err != nil {
		return err
	}
	for _, name := range deviceFiles {
		if err := t.attach("/dev/"+name, false, filepath.Join(target, name)); err != nil {
			return err
		}
	}
	if err := t.fresh("devpts", filepath.Join(target, "pts"), ownTerminals); err != nil {
		return err
	}
	dir, err := t.at(target, true)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	for name, to := range deviceLinks {
		if err := unix.Symlinkat(to, dir, name); err != nil {
			return err
		}
	}
	return nil
}

// process makes a /proc of the own processes.
func (t *tree) process(target string) error {
	if err := t.fresh("proc", target, ""); err != nil {
		return err
	}
	t.boundProcesses(target)
	for _, name := range processReadOnly {
		if err := t.over(filepath.Join(target, name), true); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range processHidden {
		if err := t.over(filepath.Join(target, name), false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// over binds what is at target over itself, read-only, or hides it.
func (t *tree) over(target string, show bool) error {
	at, err := t.at(target, true)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	from := at
	if !show {
		from = t.sources[sourceKey(os.DevNull, true)]
	}
	mnt, err := cloneMount(from, "", true)
	if err != nil {
		return err
	}
	defer unix.Close(mnt)
	return unix.MoveMount(mnt, "", at, "", moveFromItself|moveOntoItself)
}

// boundProcesses limits the processes of the namespace where the kernel can, as limits by user do not hold for root.
func (t *tree) boundProcesses(target string) {
	if kernelVersion() < pidMaxPerKernel {
		return
	}
	fd, err := unix.Openat(t.root, strings.TrimPrefix(target, "/")+"/sys/kernel/pid_max", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	_, _ = unix.Write(fd, []byte(strconv.Itoa(maxProcesses)))
}

// close makes a mount of ours read-only.
func (t *tree) close(target string) error {
	fd, err := t.at(target, true)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// pivot makes the new tree the root and lets the old one go.
func (t *tree) pivot() error {
	if err := unix.Fchdir(t.root); err != nil {
		return fmt.Errorf("enter the file tree: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let the old root go: %w", err)
	}
	return unix.Chdir("/")
}

func kernelVersion() int {
	var u unix.Utsname
	var major, minor int
	if err := unix.Uname(&u); err != nil {
		return 0
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		return 0
	}
	return major<<8 | minor
}
