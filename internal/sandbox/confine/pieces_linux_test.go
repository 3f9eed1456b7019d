// This file tests the pieces that only Linux has: the arguments of bubblewrap, what Landlock grants, the filter, the limits.

package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sandboxagent/internal/program"
)

func TestBwrapArgs(t *testing.T) {
	p := plan{Mounts: []mount{
		{Kind: devices, Target: "/dev"},
		{Kind: cover, Target: "/run"},
		{Kind: bind, Source: "/s", Target: "/t"},
		{Kind: readOnly, Source: "/r", Target: "/u"},
		{Kind: null, Target: "/v"},
		{Kind: process, Target: "/proc"},
	}}
	args, err := bwrapArgs(p, func(s string) (string, error) { return "/fd" + s, nil })
	require.NoError(t, err)
	line := strings.Join(args, " ")
	inOrder(t, line, "--cap-drop ALL", "--ro-bind / /", "--unshare-net", "--dev /dev", "--tmpfs /run", "--bind /fd/s /t", "--ro-bind /fd/r /u",
		"--ro-bind /dev/null /v", "--proc /proc", "--remount-ro /dev", "--remount-ro /run", "--")
	p.Network = true
	args, err = bwrapArgs(p, func(s string) (string, error) { return s, nil })
	require.NoError(t, err)
	require.NotContains(t, args, "--unshare-net")
}

// TestBwrapLoadsNothing tests that bubblewrap itself takes no library from where a variable says.
func TestBwrapLoadsNothing(t *testing.T) {
	if _, err := program.System(bwrapProgram, "", nil); err != nil {
		t.Skip(err)
	}
	cmd, err := bubblewrap(plan{Argv: []string{"/helper"}}, "/w", Host{}, []string{"A=1", "LD_LIBRARY_PATH=/w", "LD_PRELOAD=/w/x"})
	require.NoError(t, err)
	require.Equal(t, []string{"A=1"}, cmd.Env)
	inOrder(t, strings.Join(cmd.Args, " "), "--setenv LD_LIBRARY_PATH /w", "--setenv LD_PRELOAD /w/x", "--unshare-user", "-- /helper")
}

// What is to be covered may go while the sandbox is made, and may lie where neither it nor its commands come. What becomes
// something else is not left open.
func TestWhatIsGoneNeedsNoCover(t *testing.T) {
	dir, err := os.MkdirTemp("/srv", ".sandbox-gone-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	file, closed := filepath.Join(dir, "file"), filepath.Join(dir, "closed", "socket")
	put(t, file)
	put(t, closed)
	require.NoError(t, os.Chmod(filepath.Dir(closed), 0o700))
	require.NoError(t, os.Chown(filepath.Dir(closed), 1001, 1001))

	if err := stageWith(t); err != nil {
		t.Skipf("not possible here: %v", err)
	}
	require.NoError(t, stageWith(t,
		mount{Kind: null, Target: filepath.Join(dir, "gone")},
		mount{Kind: cover, Target: filepath.Join(dir, "gone", "deeper")},
		mount{Kind: cover, Target: filepath.Join(file, "below")},
		mount{Kind: null, Target: closed},
		mount{Kind: null, Target: file},
	))
	require.ErrorContains(t, stageWith(t, mount{Kind: cover, Target: file}), "mount "+file)
	require.ErrorContains(t, stageWith(t, mount{Kind: null, Target: dir}), "mount "+dir)
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	require.ErrorContains(t, stageWith(t, mount{Kind: null, Target: filepath.Join(dir, "link")}), "link")
	require.ErrorContains(t, stageWith(t, // commands could open it
		mount{Kind: bind, Source: dir, Target: dir}, mount{Kind: null, Target: closed}), "permission denied")
}

// stageWith makes a sandbox with further mounts and checks it from inside.
func stageWith(t *testing.T, further ...mount) error {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	base := t.TempDir()
	p := Policy{Method: Namespaces, Program: self, Workspace: filepath.Join(base, "workspace"), Session: filepath.Join(base, "state")}
	p.State = p.Session
	for _, dir := range []string{p.Workspace, p.Session} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	h := Host{Home: filepath.Join(base, "home"), Env: []string{"PATH=/usr/bin:/bin"}}
	require.NoError(t, p.Prepare(t.Context(), h))
	p, err = p.resolved()
	require.NoError(t, err)
	plan := newPlan(p, h, nil)
	plan.Mounts = append(plan.Mounts, further...)
	plan.Argv = []string{self, CheckVerb, JailFlag, p.jail(h).Encode()}
	cmd, err := ownStage(plan, p, p.Environment(h))
	require.NoError(t, err)
	return run(t.Context(), cmd)
}

func TestReadable(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"home/.ssh/id", "home/code/f", "other/f"} {
		put(t, filepath.Join(base, name))
	}
	require.NoError(t, os.Symlink(".ssh", filepath.Join(base, "home", "link")))
	got := readable(base, []string{filepath.Join(base, "home", ".ssh"), "/elsewhere"})
	require.ElementsMatch(t, []string{filepath.Join(base, "home", "code"), filepath.Join(base, "other")}, got)
	require.Empty(t, readable(base, []string{base}))
}

// TestFilterJumps walks every path of the filter that its jumps allow: all must end in a return within it.
func TestFilterJumps(t *testing.T) {
	for _, j := range []Jail{{Method: Namespaces}, {Method: Landlock}, {Method: Landlock, Network: true}} {
		f := j.newFilter(unix.AUDIT_ARCH_X86_64)
		require.Less(t, len(f), 4096)
		for i, in := range f {
			switch in.Code & 7 {
			case unix.BPF_RET:
			case unix.BPF_JMP:
				require.Less(t, i+1+int(max(in.Jt, in.Jf)), len(f))
			default:
				require.Less(t, i+1, len(f))
			}
		}
		require.EqualValues(t, bpfReturn, f[len(f)-1].Code)
	}
}

func TestCgroup(t *testing.T) {
	require.Nil(t, cgroupIn("", "x"))
	parent := t.TempDir()
	require.Nil(t, cgroupIn(parent, "x"), "without the controllers there is no limit")
	require.NoDirExists(t, filepath.Join(parent, cgroupPrefix+"x"))
	dir := filepath.Join(parent, cgroupPrefix+"y")
	put(t, filepath.Join(dir, "pids.max"))
	put(t, filepath.Join(dir, "memory.max"))
	f := cgroupIn(parent, "y")
	require.NotNil(t, f)
	defer f.Close()
	b, err := os.ReadFile(filepath.Join(dir, "pids.max"))
	require.NoError(t, err)
	require.Equal(t, "4096", string(b))
}

func TestExplainKeepsReasonAndRemedyApart(t *testing.T) {
	require.NotContains(t, explain(Bubblewrap, unix.EPERM), ": ")
	require.NotContains(t, explain(Landlock, os.ErrNotExist), ": ")
}

// TestEveryModeIsLookedAt holds the list against what the kernel has: of each call, the bits are refused and others are not.
func TestEveryModeIsLookedAt(t *testing.T) {
	f := Jail{Method: Namespaces}.newFilter(auditArch)
	for _, c := range append(modeCalls, modeCallsHere...) {
		args := [6]uint32{}
		set := func(offset, value uint32) {
			if offset != 0 {
				args[(offset-dataArg0)/8] = value
			}
		}
		set(c.flags, unix.O_CREAT|unix.O_WRONLY)
		set(c.mode, 0o4755)
		require.EqualValues(t, retErrno|uint32(unix.EPERM), f.verdict(t, c.call, args))
		set(c.mode, 0o1755)
		require.EqualValues(t, retAllow, f.verdict(t, c.call, args))
		if c.flags != 0 {
			set(c.mode, 0o4755)
			set(c.flags, unix.O_RDONLY|unix.O_DIRECTORY)
			require.EqualValues(t, retAllow, f.verdict(t, c.call, args), "the mode does not count where nothing is made")
			set(c.flags, unix.O_TMPFILE|unix.O_WRONLY)
			require.EqualValues(t, retErrno|uint32(unix.EPERM), f.verdict(t, c.call, args))
		}
	}
	require.EqualValues(t, retErrno|uint32(unix.ENOSYS), f.verdict(t, unix.SYS_OPENAT2, [6]uint32{}))
	require.EqualValues(t, retAllow, f.verdict(t, unix.SYS_FCHMOD, [6]uint32{0, 0o2775}), "a directory that a group shares")
}

// verdict runs the filter as the kernel would.
func (f filter) verdict(t *testing.T, call uint32, args [6]uint32) uint32 {
	t.Helper()
	data := map[uint32]uint32{dataCall: call, dataArch: auditArch}
	for i, a := range args {
		data[dataArg0+8*uint32(i)] = a
	}
	var acc uint32
	for at := 0; ; at++ {
		in := f[at]
		jump := map[uint16]bool{bpfEqual: acc == in.K, bpfAtMost: acc >= in.K, bpfAnySet: acc&in.K != 0}
		switch in.Code {
		case bpfLoad:
			acc = data[in.K]
		case bpfAnd:
			acc &= in.K
		case bpfReturn:
			return in.K
		default:
			taken, known := jump[in.Code]
			require.True(t, known, in.Code)
			at += int(in.Jf)
			if taken {
				at += int(in.Jt) - int(in.Jf)
			}
		}
	}
}
