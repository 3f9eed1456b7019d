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
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/config"
	"sandboxagent/internal/program"
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
