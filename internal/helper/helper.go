// Package helper is the one small program that runs inside every sandbox and does the work there. Its protocol is in
// wire, the worker's side in client, the sandbox's side in engine, and what keeps it running in daemon.
//
// This file is its command line. A test binary becomes a helper by calling Main from its TestMain when Invoked says so.
package helper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"sandboxagent/internal/helper/daemon"
	"sandboxagent/internal/helper/engine"
	"sandboxagent/internal/helper/environ"
	"sandboxagent/internal/sandbox/confine"
)

const usage = `usage: sandbox-helper serve --state DIR --root WORKSPACE [--idle DURATION] [--jail JSON]
       sandbox-helper stdio --state DIR --root WORKSPACE [--idle DURATION]
       sandbox-helper build

serve  answers on a socket recorded in the state directory, until idle
stdio  connects standard input and output to the helper that serves, starting it if needed
build  prints the identity of this program

stage and check are used by the confinement, supervise by serve.
`

const jailFlag = "jail" // confine.JailFlag without its dashes

const (
	verbServe = "serve"
	verbStdio = "stdio"
	verbBuild = "build"
)

// Invoked reports whether the arguments (os.Args) are those of a helper.
func Invoked(args []string) bool {
	if len(args) < 2 {
		return false
	}
	switch args[1] {
	case verbServe, verbStdio, verbBuild, engine.SupervisorVerb, confine.StageVerb, confine.CheckVerb:
		return true
	}
	return false
}

// ServeArgs returns the arguments that make a helper program serve; an idle of 0 means the default.
func ServeArgs(state, root string, idle time.Duration) []string {
	args := []string{verbServe, "--state", state, "--root", root}
	if idle > 0 {
		args = append(args, "--idle", idle.String())
	}
	return args
}

// Main runs the helper with the arguments behind the program's name and returns its exit code.
func Main(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case engine.SupervisorVerb:
			return engine.Supervise()
		case confine.StageVerb:
			return confine.Stage(args[1:])
		case confine.CheckVerb:
			return confine.Check(args[1:])
		}
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-helper:", err)
		return 1
	}
	return 0
}

func run(args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("no verb")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	state := flags.String("state", "", "`directory` of the sandbox's state")
	root := flags.String("root", "", "the workspace `directory`")
	alias := flags.String("known-as", "", "another `path` by which the workspace is called")
	flags.String("of", "", "the state `directory` as it is called outside, for those who look at processes")
	idle := flags.Duration("idle", daemon.DefaultIdle, "leave after that long without connection and command")
	jail := flags.String(jailFlag, "", "what commands may do, as JSON; default anything")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case verbServe:
		return serve(daemon.Options{State: *state, Root: *root, Alias: *alias, Idle: *idle}, *jail)
	case verbStdio:
		return stdio(*state, *root, *idle)
	case verbBuild:
		build, err := Build(self())
		if err == nil {
			fmt.Println(build)
		}
		return err
	}
	fmt.Fprint(os.Stderr, usage)
	return fmt.Errorf("unknown verb %q", args[0])
}

func serve(o daemon.Options, jail string) error {
	build, err := Build(self())
	if err != nil {
		return err
	}
	o.Ready, o.Log, o.Build = oneLine{}, os.Stderr, build
	if jail != "" {
		if err := confined(&o, jail); err != nil {
			return err
		}
	}
	return daemon.Serve(context.Background(), o)
}

// confined makes the helper start commands in a jail.
func confined(o *daemon.Options, text string) error {
	jail, err := confine.DecodeJail(text)
	if err != nil {
		return err
	}
	if err := confine.Harden(); err != nil {
		return err
	}
	o.Start, err = jail.Starter()
	o.Processes, o.Apart = confine.MaxProcesses, jail.Method.Strong()
	return err
}

func stdio(state, root string, idle time.Duration) error {
	if !filepath.IsAbs(state) {
		return fmt.Errorf("the state directory must be absolute")
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	conn, err := daemon.Dial(context.Background(), state, func() (*exec.Cmd, error) {
		cmd := exec.Command(self(), ServeArgs(state, root, idle)...)
		cmd.Env = environ.Inherit(os.Environ())
		return cmd, nil
	})
	if err != nil {
		return err
	}
	return daemon.Bridge(conn, os.Stdin, os.Stdout)
}

// Build returns the identity of a helper program: a digest of its file.
func Build(program string) (string, error) {
	f, err := os.Open(program)
	if err != nil {
		return "", fmt.Errorf("identify helper: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("identify helper: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// self is the path of this program; on Linux it holds also when the file was replaced.
func self() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	if p, err := os.Executable(); err == nil {
		return p
	}
	return os.Args[0]
}

// oneLine gives standard output up behind its first write, so that who waits for the line sees the end.
type oneLine struct{}

func (oneLine) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	if err != nil {
		return n, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return n, err
	}
	defer null.Close()
	return n, redirect(int(null.Fd()), int(os.Stdout.Fd()))
}
