// This file bounds processes and memory on Linux: by a control group of version 2 where this user may make one, else by
// limits on the commands themselves. Memory per process is not limited, because sanitizers, Go and Node reserve far more
// than they use; instead the kernel is told to end a sandbox first when memory runs out.

package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	cgroupMount  = "/sys/fs/cgroup"
	cgroupPrefix = "sandbox-agent-"
	memoryShare  = 3 // of the machine's memory, in quarters
)

// Cgroup makes the control group of a sandbox and opens it, for processes to be started in. Without one to be made it
// returns nil.
func Cgroup(name string) *os.File { return cgroupIn(ownCgroup(), name) }

// RemoveCgroup removes the control group of a sandbox of which nothing runs any more.
func RemoveCgroup(name string) {
	if dir := ownCgroup(); dir != "" {
		_ = os.Remove(filepath.Join(dir, cgroupPrefix+name))
	}
}

// ownCgroup returns the directory of the control group that this process is in.
func ownCgroup() string {
	var fs unix.Statfs_t
	if err := unix.Statfs(cgroupMount, &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return ""
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(cgroupMount, path)
		}
	}
	return ""
}

func cgroupIn(parent, name string) *os.File {
	if parent == "" {
		return nil
	}
	dir := filepath.Join(parent, cgroupPrefix+name)
	_ = os.Mkdir(dir, 0o755)
	if err := limit(dir); err != nil {
		_ = os.Remove(dir)
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	return f
}

func limit(dir string) error {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return fmt.Errorf("read the size of memory: %w", err)
	}
	memory := uint64(info.Totalram) * uint64(info.Unit) / 4 * memoryShare //nolint:unconvert // the types differ among processors
	for name, value := range map[string]uint64{"pids.max": MaxProcesses, "memory.max": memory} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0) // there only when the controller is delegated
		if err != nil {
			return fmt.Errorf("limit the sandbox: %w", err)
		}
		_, err = f.WriteString(strconv.FormatUint(value, 10))
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("limit the sandbox: %w", err)
		}
	}
	return nil
}

// describeLimits says how a helper started here is bounded.
func describeLimits(m Method) string {
	if f := Cgroup("probe"); f != nil {
		_ = f.Close()
		RemoveCgroup("probe")
		return fmt.Sprintf("at most %d processes and three quarters of the memory, by a control group", MaxProcesses)
	}
	if os.Getuid() == 0 && (m != Namespaces || kernelVersion() < pidMaxPerKernel) {
		return "the number of their processes is not limited, as you are root"
	}
	return fmt.Sprintf("at most %d processes", MaxProcesses)
}
