// This file examines who works for the server: Temporal, the worker, the feed and the backends.

package core

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/temporal"
)

func (c *Core) checkTemporal(ctx context.Context) []editors.Check {
	p, err := c.resolve(ctx)
	if err != nil {
		e := asError("reading the Temporal settings", err)
		return []editors.Check{check("temporal", checkError, e.Remedy, "%s", e.Message)}
	}
	e, err := c.link.engine(ctx)
	if err == nil {
		err = e.Health(ctx)
	}
	switch {
	case err == nil:
		return []editors.Check{check("temporal", checkOK, "", "%s answers", p)}
	case p.Embedded && !c.workerAlive():
		return []editors.Check{check("temporal", checkWarning, "It starts with the first request, or run: sandbox-agent worker start", "the embedded server is not running: %s", p)}
	case p.Embedded:
		return []editors.Check{check("temporal", checkError, "Read "+filepath.Join(c.opts.Paths.TemporalDir, "temporal.log")+" and "+c.workerLog(), "the embedded server does not answer: %v", err)}
	default:
		return []editors.Check{check("temporal", checkError, "Start that server, or correct its address.", "%s does not answer: %v", p, err)}
	}
}

func (c *Core) checkWorker(ctx context.Context) []editors.Check {
	status, err := c.WorkerStatus(ctx)
	if err != nil {
		return []editors.Check{check("worker", checkError, "", "%v", err)}
	}
	var checks []editors.Check
	switch {
	case !status.Running:
		checks = append(checks, check("worker", checkWarning, remedyStart, "no worker is running on this host"))
	case status.Version != "" && status.Version != editors.Version:
		checks = append(checks, check("worker", checkWarning, "Run: sandbox-agent worker stop, then: sandbox-agent worker start",
			"the worker (pid %d) has version %s, this program %s", status.PID, status.Version, editors.Version))
	default:
		checks = append(checks, check("worker", checkOK, "", "version %s, pid %d, since %s, log %s",
			status.Version, status.PID, status.StartedAt.Format(time.DateTime), status.Log))
	}
	return append(checks, c.checkPolling(ctx, status.Running)...)
}

func (c *Core) checkPolling(ctx context.Context, here bool) []editors.Check {
	e, err := c.link.engine(ctx)
	if err != nil {
		return nil // said by the check of Temporal
	}
	queues := []string{agent.AgentQueue}
	if id := c.HostID(); id != "" {
		queues = append(queues, agent.HostQueue(id))
	}
	var said []string
	status, remedy := checkOK, ""
	for _, queue := range queues {
		n, last, err := e.Pollers(ctx, queue)
		switch {
		case err != nil && temporal.IsUnavailable(err):
			return nil
		case err != nil:
			said = append(said, fmt.Sprintf("%s: %v", queue, err))
		case n == 0:
			status, remedy = checkWarning, remedyStart
			said = append(said, queue+": nobody"+lastSeen(last))
		default:
			said = append(said, fmt.Sprintf("%s: %d", queue, n))
		}
	}
	if status != checkOK && here {
		remedy = "Wait a moment; if it stays so, read the worker's log: " + c.workerLog()
	}
	return []editors.Check{check("polling", status, remedy, "workers seen on task queues: %s", strings.Join(said, ", "))}
}

func (c *Core) checkFeed(ctx context.Context) []editors.Check {
	socket := c.opts.Paths.DialSocket()
	if c.live.awaitConnected(ctx, feedTime) {
		return []editors.Check{check("feed", checkOK, "", "connected to %s", socket)}
	}
	if !c.workerAlive() {
		return []editors.Check{check("feed", checkWarning, remedyStart, "no worker listens at %s", socket)}
	}
	return []editors.Check{check("feed", checkWarning, "Events still come, but slower. Read the worker's log: "+c.workerLog(), "the worker does not answer at %s", socket)}
}

// checkBackends tells of the backends as the worker found them, and how the local one holds its commands. What nobody tested
// is never called fine.
func (c *Core) checkBackends(ctx context.Context) []editors.Check {
	tested := c.testedBackends(ctx)
	if len(tested) == 0 {
		why, remedy := "no worker runs", remedyTest
		if c.workerAlive() {
			why, remedy = "the worker did not answer in time", c.remedySlow()
		}
		return []editors.Check{
			check("backends", checkWarning, remedy, "not tested, since %s", why),
			c.checkConfinement(checkWarning, remedy, "whether this machine can hold it was not tested, since "+why),
		}
	}
	var checks []editors.Check
	for _, b := range tested {
		status, detail := checkOK, "available"
		if !b.Available {
			status, detail = checkWarning, "not available"
		}
		if !b.Available && b.Kind == editors.Local {
			status = checkError
		}
		if b.Reason != "" {
			detail += ": " + b.Reason
		}
		checks = append(checks, check("backend "+string(b.Kind), status, b.Remedy, "%s", detail))
		switch {
		case b.Kind != editors.Local:
		case b.Available:
			checks = append(checks, c.checkConfinement(checkOK, "", "local commands run at it, or not at all"))
		default:
			checks = append(checks, c.checkConfinement(checkError, b.Remedy, "no local command runs"))
		}
	}
	return checks
}

// checkConfinement says which level of confinement is asked for, and what comes of it; always when it is none.
func (c *Core) checkConfinement(status, remedy, outcome string) editors.Check {
	const name = "confinement"
	switch level := c.opts.Config.Local.Confinement; {
	case c.opts.Broken != nil:
		return check(name, checkWarning, "Correct the configuration.", "the level is not known, since the configuration cannot be read")
	case level != "none":
		return check(name, status, remedy, "the level %s is asked for; %s", level, outcome)
	}
	return check(name, checkWarning,
		"Remove confinement from the section [local] of "+c.opts.Paths.ConfigFile+", and the variable SANDBOX_AGENT_CONFINEMENT, to have them confined.",
		"local commands are not confined: they can do whatever you can")
}
