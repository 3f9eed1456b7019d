// This file exists so that a worker can own a Temporal server: start it, watch it, start it again, and stop it.

package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	embeddedStartTimeout = 60 * time.Second       // from process start to a served namespace
	embeddedStopTimeout  = 8 * time.Second        // the server bounds its own stop to 5 s
	adoptPoll            = 250 * time.Millisecond // how often an adopted instance is looked at
	restartDelayMin      = 100 * time.Millisecond
	restartDelayMax      = 30 * time.Second
	stableAfter          = time.Minute // a life this long starts the restart delay anew
)

// ErrEmbeddedRefused means that the embedded server will never start on this state directory: its database is newer
// than the binary, or damaged. The message says what to do.
var ErrEmbeddedRefused = errors.New("the embedded Temporal server refuses to start")

var errHolderGone = errors.New("the other instance is gone")

// EmbeddedStatus is what the supervisor is doing.
type EmbeddedStatus string

// What the supervisor can be doing.
const (
	EmbeddedStarting   EmbeddedStatus = "starting"   // not serving yet
	EmbeddedReady      EmbeddedStatus = "ready"      // serving, started by this process
	EmbeddedAdopted    EmbeddedStatus = "adopted"    // serving, started by another process
	EmbeddedRestarting EmbeddedStatus = "restarting" // it ended; another start follows after a delay
	EmbeddedFailed     EmbeddedStatus = "failed"     // given up for good; Err matches ErrEmbeddedRefused
	EmbeddedStopped    EmbeddedStatus = "stopped"    // by Stop
)

// EmbeddedState is the supervisor's present.
type EmbeddedState struct {
	Status  EmbeddedStatus
	Address string // host:port of the frontend, while ready or adopted
	UIURL   string // of the web UI, when it serves one
	PID     int    // of the serving process, while ready or adopted
	Err     error  // why it is restarting or failed
}

// EmbeddedOptions say how to run the embedded server.
type EmbeddedOptions struct {
	// Binary is the path of sandbox-temporal ("": SANDBOX_TEMPORAL_BIN, or see program.Own).
	Binary string
	// StateDir holds the database, certificates, lock and log; it is made when missing.
	StateDir string
	// Log receives what the supervisor does (nil: nothing). The server's own log is temporal.log in StateDir.
	Log *slog.Logger
	// UI also serves the Temporal web UI on loopback.
	UI bool
	// OnState is called in order, from one goroutine, at each change of state; it must return quickly.
	OnState func(EmbeddedState)
}

// Embedded is a supervised embedded server.
type Embedded struct {
	opts   EmbeddedOptions
	binary string
	cancel context.CancelFunc
	kill   chan struct{} // closed when a graceful stop has taken too long
	done   chan struct{} // closed when supervision has ended

	killOnce sync.Once
	mu       sync.Mutex
	state    EmbeddedState
}

// StartEmbedded returns when a server answers for o.StateDir, its own or one that another process already runs
// there, within ctx and a minute. From then on it is watched and started again when it ends; its address stays, so
// connected clients recover by themselves. The error matches ErrEmbeddedRefused when no later start can help.
func StartEmbedded(ctx context.Context, o EmbeddedOptions) (*Embedded, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	binary, err := findBinary(o.Binary, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
		return nil, fmt.Errorf("resolving the state directory: %w", err)
	}
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	run, cancel := context.WithCancel(context.Background())
	e := &Embedded{opts: o, binary: binary, cancel: cancel, kill: make(chan struct{}), done: make(chan struct{})}
	started := make(chan error, 1)
	go e.supervise(run, started)
	select {
	case err := <-started:
		if err == nil {
			return e, nil
		}
		cancel()
		<-e.done
		return nil, err
	case <-ctx.Done():
		cancel()
		<-e.done
		return nil, fmt.Errorf("starting the embedded Temporal server: %w", ctx.Err())
	}
}

// State returns the present state.
func (e *Embedded) State() EmbeddedState {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// Done is closed when supervision has ended: after Stop, or with status failed.
func (e *Embedded) Done() <-chan struct{} { return e.done }

// Stop ends the server this process started, gracefully until ctx ends and then by force; a server of another process
// goes on. It returns ctx's error when force was needed. It may be called again.
func (e *Embedded) Stop(ctx context.Context) error {
	e.cancel()
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		e.killOnce.Do(func() { close(e.kill) })
		<-e.done
		return fmt.Errorf("stopping the embedded Temporal server: %w", ctx.Err())
	}
}

// supervise runs one life after the other. The outcome of the first goes to started.
func (e *Embedded) supervise(ctx context.Context, started chan<- error) {
	defer close(e.done)
	first, delay := true, restartDelayMin
	e.set(EmbeddedState{Status: EmbeddedStarting})
	for {
		began := time.Now()
		err := e.live(ctx, func(s EmbeddedState) {
			e.set(s)
			if first {
				first = false
				started <- nil
			}
		})
		switch {
		case ctx.Err() != nil:
			e.set(EmbeddedState{Status: EmbeddedStopped})
			return
		case errors.Is(err, errHolderGone):
			e.set(EmbeddedState{Status: EmbeddedRestarting, Err: err})
			continue // the lock was seen free: take over at once
		case first:
			e.set(EmbeddedState{Status: EmbeddedFailed, Err: err})
			started <- err
			return
		case errors.Is(err, ErrEmbeddedRefused):
			e.set(EmbeddedState{Status: EmbeddedFailed, Err: err})
			return
		}
		if time.Since(began) > stableAfter {
			delay = restartDelayMin
		}
		e.set(EmbeddedState{Status: EmbeddedRestarting, Err: err})
		if !sleep(ctx, delay) {
			e.set(EmbeddedState{Status: EmbeddedStopped})
			return
		}
		delay = min(2*delay, restartDelayMax)
	}
}

// live starts a server, or adopts the one that holds the lock, and returns why it ended.
func (e *Embedded) live(ctx context.Context, up func(EmbeddedState)) error {
	s, err := launch(e.binary, e.opts.StateDir, e.opts.UI)
	if err != nil {
		return err
	}
	info, err := s.awaitReady(ctx)
	switch {
	case errors.Is(err, errLocked):
		return e.adopt(ctx, up)
	case err != nil:
		s.terminate(e.kill)
		return err
	}
	up(EmbeddedState{Status: EmbeddedReady, Address: info.Address, UIURL: info.UIURL, PID: info.PID})
	select {
	case <-s.exited:
		return s.failure("ended")
	case <-ctx.Done():
		s.terminate(e.kill)
		return ctx.Err()
	}
}

// adopt watches another process's instance: it reports it when it serves, and returns errHolderGone when it is gone.
func (e *Embedded) adopt(ctx context.Context, up func(EmbeddedState)) error {
	deadline := time.Now().Add(embeddedStartTimeout)
	for adopted := 0; ; {
		free, err := lockIsFree(e.opts.StateDir)
		if err != nil {
			return err
		}
		if free {
			return errHolderGone
		}
		st, err := readServerState(e.opts.StateDir)
		if err == nil && st.PID != 0 && st.PID != adopted && st.PID == lockHolder(e.opts.StateDir) {
			adopted = st.PID
			up(EmbeddedState{Status: EmbeddedAdopted, Address: st.Address, UIURL: st.UIURL, PID: st.PID})
		}
		if adopted == 0 && time.Now().After(deadline) {
			return fmt.Errorf("another instance (pid %d) holds %s but does not serve", lockHolder(e.opts.StateDir), e.opts.StateDir)
		}
		if !sleep(ctx, adoptPoll) {
			return ctx.Err()
		}
	}
}

func (e *Embedded) set(s EmbeddedState) {
	e.mu.Lock()
	e.state = s
	e.mu.Unlock()
	log := e.opts.Log.With("status", s.Status, "address", s.Address, "pid", s.PID)
	switch s.Status {
	case EmbeddedFailed:
		log.Error("embedded Temporal server", "error", s.Err)
	case EmbeddedRestarting:
		log.Warn("embedded Temporal server", "error", s.Err)
	default:
		log.Info("embedded Temporal server")
	}
	if e.opts.OnState != nil {
		e.opts.OnState(s)
	}
}

// lockIsFree asks by taking a shared lock for an instant. A server that starts in that instant fails as if the lock
// were held; its supervisor then comes here, and finds it free.
func lockIsFree(stateDir string) (bool, error) {
	f, err := os.Open(filepath.Join(stateDir, "temporal.lock"))
	if err != nil {
		return false, fmt.Errorf("looking at the embedded server's lock: %w", err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking at the embedded server's lock: %w", err)
	}
	return true, nil
}

// sleep reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
