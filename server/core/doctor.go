// This file examines the installation and says what to do about what is wrong.

package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sourcegraph/conc"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/config"
	"sandboxagent/internal/program"
	"sandboxagent/internal/temporal"
)

const (
	doctorTime = 4 * time.Second
	feedTime   = 200 * time.Millisecond // for the worker to be connected to
	lowSpace   = 1 << 30                // bytes
	noSpace    = 100 << 20

	helperBinary    = "sandbox-helper"
	helperBinaryEnv = "SANDBOX_HELPER_BIN"

	remedyTest = "Run: sandbox-agent worker start, then: sandbox-agent doctor"
)

// The statuses of a check.
const (
	checkOK      = "ok"
	checkWarning = "warning"
	checkError   = "error"
)

// doctor looks at everything at once and always answers. It starts nothing.
func (c *Conn) doctor(ctx context.Context, _ editors.Empty) (editors.DoctorResult, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, quietKey{}, quietAlways), doctorTime)
	defer cancel()
	examinations := []func(context.Context) []editors.Check{
		c.core.checkVersion, c.core.checkDirectories, c.core.checkConfig, c.core.checkSecrets, c.core.checkPrograms,
		c.core.checkSpace, c.core.checkCheckpoints, c.core.checkTemporal, c.core.checkWorker, c.core.checkFeed, c.core.checkBackends, c.core.checkLeftovers, c.checkPolicies, c.checkServers,
	}
	found := make([][]editors.Check, len(examinations))
	var jobs conc.WaitGroup
	for i, examine := range examinations {
		jobs.Go(func() { found[i] = examine(ctx) })
	}
	jobs.Wait()
	var result editors.DoctorResult
	for _, checks := range found {
		result.Checks = append(result.Checks, checks...)
	}
	return result, nil
}

func check(name, status, remedy, format string, args ...any) editors.Check {
	return editors.Check{Name: name, Status: status, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}

func (c *Core) checkVersion(context.Context) []editors.Check {
	self, err := os.Executable()
	if err != nil {
		self = "an unknown place"
	}
	return []editors.Check{check("version", checkOK, "", "%s %s (%s, %s/%s) at %s",
		editors.Name, editors.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, self)}
}

func (c *Core) checkDirectories(context.Context) []editors.Check {
	p := c.opts.Paths
	var checks []editors.Check
	made := p.Ensure()
	if made != nil {
		checks = append(checks, check("directories", checkError, "Correct the owner and the permissions of that directory, or what lies in its place.", "%v", made))
	}
	for _, dir := range []string{p.StateDir, p.TemporalDir, p.LogDir, p.DataDir, p.BlobDir, p.RuntimeDir} {
		err := tryWriting(dir)
		if err != nil && (made == nil || !errors.Is(err, fs.ErrNotExist)) {
			checks = append(checks, check("directories", checkError, "Make the directory writable for you, and see that its disk is neither full nor read-only.",
				"%s is not writable: %v", dir, err))
		}
	}
	if made == nil && c.HostID() == "" {
		checks = append(checks, check("directories", checkError, "Restore "+p.HostIDFile+" or remove it.", "the host id cannot be read"))
	}
	if len(checks) > 0 {
		return checks
	}
	return []editors.Check{check("directories", checkOK, "", "state %s, data %s, runtime %s; host id %s", p.StateDir, p.DataDir, p.RuntimeDir, c.HostID())}
}

func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func (c *Core) checkConfig(context.Context) []editors.Check {
	if c.opts.Broken != nil {
		e := asError("reading the configuration", c.opts.Broken)
		return []editors.Check{check("configuration", checkError, cmp.Or(e.Remedy, "Correct it; until then nothing but this examination works."), "%s", e.Message)}
	}
	warnings := c.warnings()
	if len(warnings) == 0 {
		return []editors.Check{check("configuration", checkOK, "", "%s: model %s, approval mode %s, owner %s",
			c.opts.Paths.ConfigFile, c.opts.Config.Model, c.opts.Config.ApprovalMode, c.opts.Config.Owner)}
	}
	var checks []editors.Check
	for _, w := range warnings {
		checks = append(checks, check("configuration", checkWarning, "Correct the file.", "%s", w))
	}
	return checks
}

// warnings are those of the configuration and of the .env file, which both have read, each once.
func (c *Core) warnings() []config.Warning {
	var all []config.Warning
	if c.opts.Secrets != nil {
		all = c.opts.Secrets.Warnings()
	}
	all = slices.Concat(c.opts.Warnings, all)
	slices.SortStableFunc(all, func(a, b config.Warning) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// checkSecrets tells which keys there are, never what they are.
func (c *Core) checkSecrets(context.Context) []editors.Check {
	if c.opts.Secrets == nil {
		return nil
	}
	if c.opts.Secrets.Get(config.OpenAIKey) != "" {
		return []editors.Check{check("model key", checkOK, "", "OPENAI_API_KEY is set here")}
	}
	if c.opts.Config.OpenAI.BaseURL != "" {
		return []editors.Check{check("model key", checkOK, "", "OPENAI_API_KEY is not set; the server at %s may not need it", c.opts.Config.OpenAI.BaseURL)}
	}
	return []editors.Check{check("model key", checkWarning, "Set OPENAI_API_KEY in the environment or in "+c.opts.Paths.EnvFile+", give it in the editor, or use the model demo: --model demo.",
		"OPENAI_API_KEY is not set here")}
}

func (c *Core) checkPrograms(context.Context) []editors.Check {
	worker, err := c.findWorker()
	if err != nil {
		e := asError("looking for the worker", err)
		return []editors.Check{check("worker program", checkError, e.Remedy, "%s", e.Message)}
	}
	checks := []editors.Check{check("worker program", checkOK, "", "%s", worker)}
	places := append([]string{os.Getenv(helperBinaryEnv), filepath.Join(filepath.Dir(worker), helperBinary)}, program.Own(helperBinary)...)
	for _, path := range places {
		if program.Executable(path) == nil {
			return append(checks, check("helper program", checkOK, "", "%s", path))
		}
	}
	return append(checks, check("helper program", checkWarning, "Install "+helperBinary+" beside "+worker+".",
		"%s was not found beside the worker", helperBinary))
}

func (c *Core) checkSpace(context.Context) []editors.Check {
	var checks []editors.Check
	var seen []syscall.Fsid
	for _, dir := range []string{c.opts.Paths.StateDir, c.opts.Paths.DataDir} {
		var s syscall.Statfs_t
		if err := statParent(dir, &s); err != nil {
			checks = append(checks, check("disk space", checkWarning, "", "the space below %s is not known: %v", dir, err))
			continue
		}
		if slices.Contains(seen, s.Fsid) {
			continue // on the same disk as the one before
		}
		seen = append(seen, s.Fsid)
		free := int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // the types differ among systems
		status, remedy := checkOK, ""
		switch {
		case free < noSpace:
			status, remedy = checkError, "Free some space: sessions cannot be saved without it."
		case free < lowSpace:
			status, remedy = checkWarning, "Free some space."
		}
		checks = append(checks, check("disk space", status, remedy, "%d MiB are free below %s", free>>20, dir))
	}
	return checks
}

// checkCheckpoints tells of the store of checkpoints. To see whether it can be read it is opened, which also removes what a
// process that died has left in it.
func (c *Core) checkCheckpoints(ctx context.Context) []editors.Check {
	dir, quota := c.opts.Paths.CheckpointDir, cmp.Or(max(c.opts.Config.Checkpoint.Quota, 0), checkpoint.DefaultQuota)
	if entries, err := os.ReadDir(dir); len(entries) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return []editors.Check{check("checkpoints", checkOK, "", "none was taken yet; they will be kept in %s", dir)}
	}
	before := leftovers(dir)
	store, err := openStore(ctx, checkpoint.Options{Dir: dir, Quota: quota})
	if err != nil {
		return []editors.Check{check("checkpoints", checkError, "Use the version of this program that wrote it, correct its permissions, or move it away to begin anew without the old checkpoints.",
			"the store at %s cannot be read: %v", dir, err)}
	}
	said := fmt.Sprintf("the store at %s can be read and takes %d of %d MiB", dir, store.Size()>>20, quota>>20)
	if before > 0 {
		said += fmt.Sprintf("; of %d leftovers of interrupted writes %d remain", before, leftovers(dir))
	}
	status, remedy, space := storeSpace(dir)
	if status == checkOK && store.Size() > quota {
		status, remedy = checkWarning, "Destroy sessions that are no longer needed, or raise quota in the section [checkpoint] of "+c.opts.Paths.ConfigFile+"."
	}
	return []editors.Check{check("checkpoints", status, remedy, "%s; %s", said, space)}
}

// openStore opens a store within ctx.
func openStore(ctx context.Context, o checkpoint.Options) (*checkpoint.Store, error) {
	var store *checkpoint.Store
	opened := make(chan error, 1)
	go func() { // nothing bounds how long a disk takes
		s, err := checkpoint.Open(o)
		store = s
		opened <- err
	}()
	select {
	case err := <-opened:
		return store, err
	case <-ctx.Done():
		return nil, errors.New("its disk did not answer in time")
	}
}

// storeSpace tells whether the disk has room for another checkpoint.
func storeSpace(dir string) (status, remedy, said string) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return checkWarning, "", fmt.Sprintf("the space on its disk is not known: %v", err)
	}
	free := int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // the types differ among systems
	said = fmt.Sprintf("%d MiB are free on its disk, of which the last %d are left alone", free>>20, int64(checkpoint.DefaultReserve)>>20)
	if free < checkpoint.DefaultReserve {
		return checkError, "Free some space: no checkpoint can be taken, so that turns cannot be undone.", said
	}
	return checkOK, "", said
}

// leftovers counts the files that are being written in the store of checkpoints, or were when a process died.
func leftovers(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), "tmp-") {
			n++
		}
		return nil //nolint:nilerr // what cannot be read is not counted
	})
	return n
}

// statParent looks at the disk of dir, or of where it would be made.
func statParent(dir string, s *syscall.Statfs_t) error {
	for {
		err := syscall.Statfs(dir, s)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return err
		}
		dir = filepath.Dir(dir)
	}
}

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
