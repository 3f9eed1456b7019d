// This file lists the attacks.

package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/confine"
)

// attack is one line of the table. It succeeded if its script prints "leak", or if hit says so.
type attack struct {
	name   string
	script string
	hit    func(v *victim) bool
	open   []confine.Method // ways that do not keep it off,
	told   []confine.Method // and those by which at least the user learns of it
	since  int              // version of the kernel's Landlock that it takes to keep it off
	online bool             // the command was allowed the network
	beyond bool             // an ordinary user cannot do it even without confinement
}

// python is a script that prints "leak" unless something in it fails.
func python(body string) string {
	return "python3 - <<'END'\nimport os, socket, ctypes, sys\nlibc = ctypes.CDLL(None, use_errno=True)\nE = os.environ\n" + body + "\nprint('leak')\nEND"
}

func changed(v *victim) bool { return v.text("file") != "original" }

func wasReached(v *victim) bool { return v.reached.Load() > 0 }

func TestEditsLeaveGitAlone(t *testing.T) {
	sb, ws := newSandbox(t)
	git(t, ws, "init", "-q")
	require.NoError(t, os.Symlink(".git/config", filepath.Join(ws, "link")))
	for _, path := range []string{".git/hooks/pre-commit", ".GIT/config", "sub/.git/config", "link", ".git"} {
		err := sb.Apply(t.Context(), path, []sandbox.Edit{{Path: path, Before: "*", Content: []byte("evil")}})
		require.Equal(t, sandbox.ClassDenied, class(err), path)
	}
	require.NoError(t, sb.Apply(t.Context(), "fine", []sandbox.Edit{{Path: ".gitignore", Before: "*", Content: []byte("x")}}))
}

// helperGone reports that the helper that was there at the beginning does not serve any more.
func helperGone(v *victim) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(v.helper), "cmdline"))
	return err != nil
}

// helperLeaves gives a helper that was asked to go the time to do so.
func helperLeaves(v *victim) bool {
	for end := time.Now().Add(2 * time.Second); !helperGone(v); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// makeWith makes files of a mode in every way there is.
func makeWith(mode string) string {
	return `python3 - <<'END'
import os
def f(g):
  try: g()
  except OSError: pass
os.umask(0)
f(lambda: os.open("opened", os.O_CREAT | os.O_WRONLY, ` + mode + `))
f(lambda: os.link("/proc/self/fd/%d" % os.open(".", os.O_TMPFILE | os.O_WRONLY, ` + mode + `), "unnamed", follow_symlinks=True))
f(lambda: os.mknod("node", 0o100000 | ` + mode + `))
END
`
}

// chmodSetuid gives a file the setuid bit in every way there is.
const chmodSetuid = `: > old; python3 - <<'END'
import ctypes, os, struct
libc = ctypes.CDLL(None)
for chmod in lambda: os.chmod("old", 0o4755), lambda: os.fchmod(os.open("old", os.O_RDONLY), 0o4755):
  try: chmod()
  except OSError: pass
libc.syscall(452, -100, b"old", 0o4755, 0) # fchmodat2
libc.syscall(437, -100, b"newer", struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24) # openat2
END
install -m 4755 old installed`

// left reports whether a file in the workspace has the bit.
func (v *victim) left(bit fs.FileMode) (found bool) {
	v.t.Helper()
	require.NoError(v.t, filepath.WalkDir(v.ws, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		found = found || err == nil && info.Mode().IsRegular() && info.Mode()&bit != 0
		return err
	}))
	return found
}

var basicOnly = []confine.Method{confine.Landlock}

var attacks = []attack{
	{name: "write `../x`", script: `echo x > ../escaped`, hit: func(v *victim) bool { return v.there("home/escaped") }},
	{name: "write by absolute path", script: `echo x > $OUT/new`, hit: func(v *victim) bool { return v.there("new") }},
	{name: "overwrite or truncate a file outside", script: `: > $OUT/file; truncate -s 0 $OUT/file`, hit: changed},
	{name: "write through a symbolic link", script: `ln -s $OUT/file link; echo evil > link`, hit: changed},
	{name: "write through a dangling link", script: `ln -s $OUT/dangling hole; echo evil > hole`, hit: func(v *victim) bool { return v.there("dangling") }},
	{name: "write through a hard link", script: `ln $OUT/file hard && echo evil > hard`, hit: changed},
	{
		name: "swap a directory for a link while writing through it", script: `mkdir -p real; i=0
while [ $i -lt 300 ]; do ln -sfn real swap; (echo x > swap/raced) 2>/dev/null & ln -sfn $OUT/elsewhere swap; (echo x > swap/raced) 2>/dev/null; i=$((i+1)); done; wait`,
		hit: func(v *victim) bool { return v.there("elsewhere/raced") },
	},
	{name: "rename or delete a file outside", script: `mv $OUT/file stolen; rm -f $OUT/file`, hit: changed},
	{
		name: "write through `/proc/self/root`, `/proc/1/root`, `/proc/PID/cwd`", script: `for p in self 1 $WORKER $HELPER $PPID; do echo x > /proc/$p/root$OUT/viaproc; echo x > /proc/$p/cwd$OUT/viaproc; done`,
		hit: func(v *victim) bool { return v.there("viaproc") },
	},
	{name: "change mode or times of a file outside", script: `chmod 777 $OUT/file && echo leak; touch -d 2001-01-01 $OUT/file && echo leak`, open: basicOnly},
	{name: "append to `~/.bashrc`", script: `echo evil >> $VICTIM/.bashrc`, hit: func(v *victim) bool { return v.text("home/.bashrc") != "original" }},
	{name: "read `~/.ssh`, `~/.aws`, `~/.config/gh`", script: `cat $VICTIM/.ssh/id $VICTIM/.aws/credentials $VICTIM/.config/gh/hosts.yml | grep -q canary && echo leak`},
	{name: "read browsers' profiles, editors' state, shell histories", script: `cat $VICTIM/snap/firefox/common/.mozilla/logins.json $VICTIM/.config/microsoft-edge/Cookies $VICTIM/.config/Code/User/x $VICTIM/.histfile | grep -q canary && echo leak`},
	{name: "read passwords in addresses (`HTTPS_PROXY`, `PIP_INDEX_URL`)", script: `cat /proc/$$/environ | grep -q canary && echo leak`, beyond: true},
	{name: "read our configuration and other sessions' state", script: `cat $VICTIM/ours/config.toml | grep -q canary && echo leak; ls $VICTIM/ours/state && echo leak`},
	{name: "read `/etc/shadow`", script: `grep -q root: /etc/shadow && echo leak`, beyond: true},
	{name: "write `.git/hooks`", script: `mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit && echo leak`, told: basicOnly},
	{name: "write `.git/config`", script: `echo '[core] fsmonitor=evil' >> .git/config && echo leak`, told: basicOnly},
	{name: "put another `.git` in its place", script: `mv .git old && cp -r old .git && echo evil > .git/hooks/post-commit && echo leak`, told: basicOnly},
	{name: "the same with the repository of a submodule", script: `echo evil > .git/modules/module/hooks/update && echo leak
mv .git/modules/module stolen && cp -r stolen .git/modules/module && echo evil > .git/modules/module/hooks/update && echo leak
mv .git/modules stolen && cp -r stolen .git/modules && echo evil > .git/modules/module/hooks/update && echo leak`, told: basicOnly},
	{name: "let a rebase run a program when it goes on", script: `mkdir -p .git/rebase-merge && echo exec evil > .git/rebase-merge/git-rebase-todo && echo leak`, told: ways},
	{name: "hide the settings of a repository behind a `.git` file", script: `mkdir -p .git/worktrees/evil hidden && printf '[core]\nfsmonitor = evil\n' > .git/worktrees/evil/config && { echo gitdir: ../.git/worktrees/evil; yes '' | head -c 300000; } > hidden/.git && echo leak`, told: ways},
	{name: "make the folder a bare repository", script: `mkdir objects refs && echo ref: refs/heads/x > HEAD && printf '[core]\nfsmonitor = evil\n' > config && echo leak`, told: ways},
	{name: "be the `git` or `bwrap` that runs outside", script: `for p in git bwrap; do printf '#!/bin/sh\n: > '$OUT/ran'; exec /usr/bin/'$p' "$@"\n' > bin/$p && chmod +x bin/$p; done`, hit: (*victim).ranOutside, beyond: true},
	{name: "redirect the repository (`.git/commondir`)", script: `cp -r .git evil && echo ../evil > .git/commondir && echo leak; rm -rf evil`, told: ways},
	{name: "write the hooks or settings of a repository in a subfolder", script: `echo '[core] fsmonitor=evil' >> nested/.git/config && echo leak`, told: ways},
	{name: "read the environment of the worker", script: `cat /proc/*/environ 2>/dev/null | tr '\0' '\n' | grep -q ^CANARY= && echo leak`},
	{name: "trace the worker", script: python(`if libc.ptrace(0x4206, int(E["WORKER"]), None, None) != 0: sys.exit()`)},
	{name: "trace the helper, or read its memory", script: python(`
def f(g):
  try: return g()
  except OSError: return False
for p in E["HELPER"], "1":
  if libc.ptrace(0x4206, int(p), None, None) == 0: print("leak")
  if "--jail" in (f(lambda: open("/proc/%s/cmdline" % p).read()) or ""):
    if f(lambda: open("/proc/%s/mem" % p, "rb")): print("leak")
    for fd in f(lambda: os.listdir("/proc/%s/fd" % p)) or []:
      if f(lambda: os.readlink("/proc/%s/fd/%s" % (p, fd))): print("leak")
sys.exit()`)},
	{name: "signal the worker", script: `kill -0 $WORKER && echo leak`},
	{
		name: "kill the helper", script: `kill -9 1; kill -9 $HELPER; kill -TERM 1 $HELPER; kill -0 $HELPER 2>/dev/null && echo leak`,
		hit: helperGone,
	},
	{name: "signal the helper by the ids of its threads", script: `for t in /proc/1/task/* /proc/$HELPER/task/*; do t=${t##*/}
for s in TERM QUIT ABRT SEGV HUP USR1 STOP KILL; do kill -$s $t; done; done`, open: basicOnly, hit: helperLeaves},
	{name: "see that other processes run", script: `test -d /proc/$WORKER && echo leak`, open: basicOnly},
	{
		name: "forge the sandbox's own records", script: `for d in $SESSION $HOME/.. /run/sandbox-agent/state; do echo x > $d/forged; echo x > $d/commands/forged; done`,
		hit: func(v *victim) bool {
			_, a := os.Stat(filepath.Join(v.session, "forged"))
			_, b := os.Stat(filepath.Join(v.session, "commands", "forged"))
			return a == nil || b == nil
		},
	},
	{name: "speak to the helper", script: python(`
s = socket.socket(socket.AF_UNIX)
try:
  os.chdir(E["SESSION"]) # the path may be too long
  s.connect("sock")
except OSError:
  s = socket.socket(socket.AF_UNIX)
  s.connect("/run/sandbox-agent/state/sock")
s.settimeout(1)
try:
  s.recv(1)
  sys.exit() # it hung up at once
except socket.timeout: pass`)},
	{name: "reach a TCP server of this machine", script: python(`socket.create_connection(("127.0.0.1", int(E["PORT"])), 3)`), hit: wasReached},
	{name: "send UDP", script: python(`socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(E["UDP"]))); sys.exit()`), hit: wasReached},
	{name: "reach the internet", script: python(`
s = socket.socket(); s.settimeout(3)
try: s.connect(("192.0.2.1", 80))
except socket.timeout: pass`), beyond: true},
	{name: "connect to a unix socket that was there", script: python(`socket.socket(socket.AF_UNIX).connect(E["OUT"] + "/sock")`), hit: wasReached},
	{name: "connect to an abstract socket", script: python(`socket.socket(socket.AF_UNIX).connect("\0" + E["OUT"] + "/abstract")`), hit: wasReached},
	{
		name: "connect to an abstract socket, with the network (Linux 6.12 and later)", script: python(`socket.socket(socket.AF_UNIX).connect("\0" + E["OUT"] + "/abstract")`),
		online: true, since: 6, hit: wasReached,
	},
	{name: "turn a pair of sockets to a service", script: python(`
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendto(b"x", E["OUT"] + "/dgram")`), hit: wasReached},
	{name: "`/run/docker.sock` and other services below `/run`", script: python(`
import glob
for p in glob.glob("/run/**/*sock*", recursive=True) + glob.glob("/var/run/*.sock"):
  if "sandbox-agent" in p: continue
  try: socket.socket(socket.AF_UNIX).connect(p)
  except OSError: continue
  print("leak")
sys.exit()`), beyond: true},
	{name: "`io_uring`", script: python(`
if libc.syscall(425, 1, ctypes.create_string_buffer(256)) < 0: sys.exit()`)},
	{name: "mount", script: python(`if libc.mount(b"x", b"/mnt", b"tmpfs", 0, None) != 0: sys.exit()`), beyond: true},
	{name: "unmount what covers", script: `umount -l /proc && echo leak; umount -l /run && echo leak; umount -l .git/hooks && echo leak`, beyond: true},
	{name: "new user namespace", script: python(`if libc.unshare(0x10000000) != 0: sys.exit()`)},
	{name: "keys of the user's session (`keyctl`)", script: python(`if libc.syscall({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 1) < 0: sys.exit()`)},
	{name: "`bpf`", script: python(`if libc.syscall({"x86_64": 321, "aarch64": 280}[os.uname().machine], 0, ctypes.create_string_buffer(128), 128) >= 0 or ctypes.get_errno() != 1: print("leak")
sys.exit()`)},
	{name: "gain rights by a setuid program", script: `grep -q 'NoNewPrivs:.1' /proc/self/status || echo leak; grep -q 'CapEff:.0000000000000000' /proc/self/status || echo leak`},
	{name: "leave a program with the setuid bit", script: makeWith("0o4755") + chmodSetuid, hit: func(v *victim) bool { return v.left(fs.ModeSetuid) }},
	{name: "make a file with the setgid bit", script: `cd "$(mktemp -d made-XXXX)"; ` + makeWith("0o2755"), hit: func(v *victim) bool { return v.left(fs.ModeSetgid) }},
	{name: "give a file the setgid bit by `chmod`", script: `echo x > group; chmod 2755 group`, open: ways, hit: func(v *victim) bool { return v.left(fs.ModeSetgid) }},
	{name: "read a disk", script: `for d in /dev/sd* /dev/vd* /dev/nvme* /dev/dm-*; do head -c 1 $d 2>/dev/null | grep -q . && echo leak; done; mknod dev b 254 0 && head -c 1 dev && echo leak`, beyond: true},
	{name: "settings of the kernel (`/proc/sys`)", script: python(`os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)`), beyond: true},
}
