// This file keeps the one connection to Temporal that all editors of a process share.

package core

import (
	"context"
	"sync/atomic"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/temporal"
)

const (
	embeddedDial = time.Second     // a local server answers at once or does not run
	remoteDial   = 4 * time.Second // a command must fail within 5 s
	// embeddedPatience bounds the wait for an embedded server that is being started again.
	embeddedPatience = 15 * time.Second
	startAgain       = time.Minute      // between starts that nobody asked for
	healTime         = 30 * time.Second // for which a request that nobody answered comes again
)

const waitsForTemporal = "Waiting for the embedded Temporal server to come back."

// link connects when a command first needs it. With the embedded server it also sees to it that the worker runs, which
// owns that server.
type link struct {
	core *Core
	dial func(ctx context.Context, p temporal.Profile) (engine, error)

	turn    chan struct{} // holds a token while nobody connects; it guards what follows
	now     engine
	profile temporal.Profile
	life    string // the worker under which the connection was made

	suspect atomic.Bool                  // a request found nobody
	failed  atomic.Pointer[startFailure] // the last start of the worker, unless it succeeded
}

// startFailure is why, and when, the worker could not be started.
type startFailure struct {
	at  time.Time
	err *editors.Error
}

// again is when the worker may be started once more though nobody asks for it.
func (f *startFailure) again() time.Time { return f.at.Add(startAgain) }

// quiet says that nobody asked for what is being done, which limits whether it may start the worker.
type quiet int

const (
	quietNever         quiet = iota
	quietUnlessStopped       // start it unless the user stopped it, and do not try again at once
	quietAlways              // leave it be
)

type quietKey struct{}

// mayStart tells whether what ctx is for may start the worker.
func (l *link) mayStart(ctx context.Context) bool {
	if !l.core.opts.Autostart {
		return false
	}
	switch q, _ := ctx.Value(quietKey{}).(quiet); q {
	case quietAlways:
		return false
	case quietUnlessStopped:
		return !l.core.workerStopped() && l.unstarted() == nil
	}
	return true
}

// unstarted is why the worker does not run, for as long as it is not started again unasked; nil when it may be.
func (l *link) unstarted() *startFailure {
	f := l.failed.Load()
	if f == nil || time.Now().After(f.again()) {
		return nil
	}
	return f
}

func newLink(c *Core) *link {
	l := &link{core: c, dial: c.dialTemporal, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

func (c *Core) resolve(ctx context.Context) (temporal.Profile, error) {
	t := c.opts.Config.Temporal
	p, err := temporal.Resolve(ctx, temporal.ResolveOptions{
		Address: t.Address, Namespace: t.Namespace, ProfileName: t.Profile, StateDir: c.opts.Paths.TemporalDir,
	})
	if err != nil {
		return p, lasting(editors.Errorf(editors.CodeTemporalUnavailable, "the Temporal settings cannot be used: %w", err).
			WithRemedy("Correct the Temporal settings, or remove them to use the embedded server."))
	}
	return p, nil
}

// embedded tells whether the server is, or would be, the one this product runs.
func (c *Core) embedded(ctx context.Context) bool {
	p, err := c.resolve(ctx)
	return err == nil && p.Embedded
}

func (c *Core) dialTemporal(ctx context.Context, p temporal.Profile) (engine, error) {
	keys, err := temporal.LoadKeys("", nil)
	if err != nil {
		return nil, err
	}
	timeout := remoteDial
	if p.Embedded {
		timeout = embeddedDial
	}
	conn, err := temporal.Dial(ctx, p, temporal.Options{Log: c.log, Timeout: timeout, Keys: keys})
	if err != nil {
		return nil, err
	}
	payloads, err := temporal.NewDataConverter(keys)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &temporalEngine{client: conn, namespace: p.Namespace, converter: payloads}, nil
}

// engine returns the connection, making it and starting the worker if need be. Its errors are *editors.Error.
func (l *link) engine(ctx context.Context) (engine, error) {
	if !l.take(ctx) {
		return nil, asError("connecting to Temporal", ctx.Err())
	}
	defer func() { l.turn <- struct{}{} }()
	suspect := l.suspect.Swap(false) // what is found from here on counts for the next
	if l.now != nil && !suspect && !l.workerIsAnother(ctx) {
		return l.now, nil
	}
	if err := l.connect(ctx); err != nil {
		l.lost()
		return nil, asError("connecting to Temporal", err)
	}
	return l.now, nil
}

// take takes the token unless ctx ends first.
func (l *link) take(ctx context.Context) bool {
	tell := time.NewTimer(sayAfter)
	defer tell.Stop()
	for {
		select {
		case <-l.turn:
			return true
		case <-tell.C:
			progress(ctx, "Waiting for the connection to Temporal.")
		case <-ctx.Done():
			return false
		}
	}
}

// connect looks at what is there, starts what is missing, and dials unless the present connection leads there.
func (l *link) connect(ctx context.Context) error {
	p, err := l.core.resolve(ctx)
	if err != nil {
		return err
	}
	life := l.core.workerLife()
	if !p.Embedded || !l.mayStart(ctx) {
		l.life = life
		return l.reach(ctx, p)
	}
	if l.core.workerReady(ctx) && l.reach(ctx, p) == nil {
		l.life = life
		return nil
	}
	return l.reachEmbedded(ctx)
}

// reachEmbedded starts the worker and waits for the embedded server, which the worker starts again when it ends.
func (l *link) reachEmbedded(ctx context.Context) error {
	l.life = ""
	said := false
	for began := time.Now(); ; {
		if l.life == "" || l.life != l.core.workerLife() {
			if err := l.start(ctx); err != nil {
				return err
			}
			l.life = l.core.workerLife()
		}
		p, err := l.core.resolve(ctx)
		if err != nil {
			return err
		}
		err = l.reach(ctx, p)
		if err == nil || !temporal.IsUnavailable(err) || time.Since(began) > embeddedPatience {
			return err
		}
		if !said && time.Since(began) > sayAfter {
			said = true
			progress(ctx, waitsForTemporal)
		}
		if !pause(ctx, readyPoll) {
			return err
		}
	}
}

// start starts the worker and keeps why that failed.
func (l *link) start(ctx context.Context) error {
	err := l.core.startWorker(ctx, "--embedded", "--exit-when-idle")
	if err == nil {
		l.failed.Store(nil)
		return nil
	}
	l.failed.Store(&startFailure{time.Now(), asError("starting the worker", err)})
	return err
}

// reach keeps the present connection when it leads to p, since it reconnects by itself.
func (l *link) reach(ctx context.Context, p temporal.Profile) error {
	if l.now != nil && p.Address == l.profile.Address && p.Namespace == l.profile.Namespace {
		if err := l.now.Health(ctx); err == nil || !temporal.IsUnavailable(err) {
			return nil
		}
	}
	next, err := l.dial(ctx, p)
	if err != nil {
		return err
	}
	l.drop()
	l.now, l.profile = next, p
	return nil
}

func (l *link) drop() {
	if l.now != nil {
		l.now.Close()
		l.now = nil
	}
}

// workerIsAnother tells whether the worker, on which the embedded server depends, has ended or been replaced.
func (l *link) workerIsAnother(ctx context.Context) bool {
	if !l.profile.Embedded || !l.mayStart(ctx) {
		return false
	}
	life := l.core.workerLife()
	return life == "" || life != l.life
}

// lost makes the next command look again at what is there.
func (l *link) lost() { l.suspect.Store(true) }

// heals tells whether to send a request again that nobody answered, since what this process may start for itself was not
// there: the worker, which was another when the request was sent, or its Temporal server.
func (l *link) heals(ctx context.Context, sentUnder string, began time.Time) bool {
	if !l.take(ctx) {
		return false
	}
	defer func() { l.turn <- struct{}{} }()
	l.lost()
	if !l.profile.Embedded || !l.mayStart(ctx) || time.Since(began) > healTime {
		return false
	}
	if life := l.core.workerLife(); life == "" || life != sentUnder {
		return true
	}
	return l.now == nil || temporal.IsUnavailable(bounded(ctx, diagnosisTime, l.now.Health))
}

func (l *link) close() {
	<-l.turn
	l.drop()
	l.turn <- struct{}{}
}

// pause reports false when ctx ended before d had passed.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
