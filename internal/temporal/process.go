// This file exists to handle one process of the embedded server, from finding its binary to reading its last words.

package temporal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sandboxagent/internal/program"
)

const (
	// BinaryEnv is the environment variable that names the embedded server's binary.
	BinaryEnv = "SANDBOX_TEMPORAL_BIN"

	binaryName   = "sandbox-temporal"
	exitLocked   = 75 // statuses of sandbox-temporal
	exitRefused  = 78
	logLimit     = 1 << 20  // bytes; a longer log is begun anew at a start
	logTailLimit = 64 << 10 // bytes of the log that are looked at for an error,
	logTailLines = 3        // of which so many lines are told,
	logLineHead  = 100      // each by so many bytes of its beginning
	logLineTail  = 400      // and of its end, where causes stand
)

// ErrNoBinary means that sandbox-temporal was not found.
var ErrNoBinary = errors.New(binaryName + " is not installed")

var errLocked = errors.New("another instance runs")

// findBinary looks where the user says, else where this product's programs are.
func findBinary(explicit string, lookup func(string) (string, bool)) (string, error) {
	if explicit == "" {
		explicit, _ = lookup(BinaryEnv)
	}
	if explicit != "" {
		if err := program.Executable(explicit); err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoBinary, err)
		}
		return explicit, nil
	}
	for _, path := range program.Own(binaryName) {
		if program.Executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: put it beside this program, or set %s", ErrNoBinary, BinaryEnv)
}

// process is one running sandbox-temporal.
type process struct {
	cmd      *exec.Cmd
	stdin    io.Closer // the server stops when this end closes, also when this process is killed
	stateDir string
	logFrom  int64         // where this process's part of the log begins
	exited   chan struct{} // closed after the end
}

// launch starts the server in a session of its own, so that a terminal's signals do not reach it, and without this
// process's environment, which holds secrets.
func launch(binary, stateDir string, ui bool) (*process, error) {
	log, from, err := openLog(stateDir)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own descriptor
	args := []string{"--state-dir", stateDir, "--parent-pipe"}
	if ui {
		args = append(args, "--ui")
	}
	p := &process{cmd: exec.Command(binary, args...), stateDir: stateDir, logFrom: from, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = log, log, stateDir
	p.cmd.Env = serverEnvironment(os.Environ(), stateDir)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the embedded Temporal server: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the embedded Temporal server: %w", err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // ProcessState tells the same
	}()
	return p, nil
}

// serverEnvironment keeps what the server may see. It must know a name and a home of its user, which it looks up; a user id
// that the system has no name for, as in a container, has its number for one.
func serverEnvironment(all []string, stateDir string) []string {
	keep := []string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "GOMAXPROCS", "GOMEMLIMIT", "GOGC"}
	kept := map[string]string{"USER": strconv.Itoa(os.Getuid()), "HOME": stateDir}
	for _, kv := range all {
		if name, value, _ := strings.Cut(kv, "="); slices.Contains(keep, name) && value != "" {
			kept[name] = value
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		out = append(out, name+"="+kept[name])
	}
	return out
}

func openLog(stateDir string) (*os.File, int64, error) {
	f, err := os.OpenFile(filepath.Join(stateDir, "temporal.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("opening the embedded server's log: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() > logLimit {
		err = f.Truncate(0)
	}
	if err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("opening the embedded server's log: %w", err), f.Close())
	}
	return f, info.Size(), nil
}

// awaitReady returns what the server wrote when it began to serve, or errLocked, or why it did not.
func (p *process) awaitReady(ctx context.Context) (serverState, error) {
	timeout := time.NewTimer(embeddedStartTimeout)
	defer timeout.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.exited:
			if p.cmd.ProcessState.ExitCode() == exitLocked {
				return serverState{}, errLocked
			}
			return serverState{}, p.failure("did not start")
		case <-timeout.C:
			return serverState{}, p.failure(fmt.Sprintf("did not serve within %s", embeddedStartTimeout))
		case <-ctx.Done():
			return serverState{}, ctx.Err()
		case <-tick.C:
			if s, err := readServerState(p.stateDir); err == nil && s.PID == p.cmd.Process.Pid {
				return s, nil
			}
		}
	}
}

// terminate ends the process gracefully, and by force after embeddedStopTimeout or when kill is closed.
func (p *process) terminate(kill <-chan struct{}) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	timeout := time.NewTimer(embeddedStopTimeout)
	defer timeout.Stop()
	select {
	case <-p.exited:
		return
	case <-kill:
	case <-timeout.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// failure describes the end of the process with the end of its log.
func (p *process) failure(what string) error {
	status := "still running"
	var refused bool
	select {
	case <-p.exited:
		status = p.cmd.ProcessState.String()
		refused = p.cmd.ProcessState.ExitCode() == exitRefused
	default:
	}
	tail := p.logTail()
	if tail == "" {
		tail = "it logged nothing"
	}
	if refused {
		return fmt.Errorf("%w: %s", ErrEmbeddedRefused, tail)
	}
	return fmt.Errorf("the embedded Temporal server %s (%s): %s", what, status, tail)
}

// logTail returns the last lines this process wrote, long ones without their middle.
func (p *process) logTail() string {
	f, err := os.Open(filepath.Join(p.stateDir, "temporal.log"))
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(p.logFrom, info.Size()-logTailLimit), logTailLimit))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	lines = lines[max(0, len(lines)-logTailLines):]
	for i, line := range lines {
		if len(line) > logLineHead+logLineTail {
			lines[i] = strings.ToValidUTF8(line[:logLineHead], "") + " … " + strings.ToValidUTF8(line[len(line)-logLineTail:], "")
		}
	}
	return strings.Join(lines, "\n")
}
