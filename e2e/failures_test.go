package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

// failure is what an ask came to that could not succeed.
type failure struct {
	message, remedy string
	took            time.Duration
}

func (i *install) failingAsk(args ...string) failure {
	i.Helper()
	i.ok(nil, "worker", "start") // so that its start does not count
	began := time.Now()
	s := i.start(append([]string{"ask", "--workspace", i.work}, append(args, "hello")...)...)
	reason := s.until("a reason", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.StateChanged && e.Event.State.Remedy != ""
	})
	return failure{reason.Event.State.Reason, reason.Event.State.Remedy, time.Since(began)}
}

func TestNoKeySaysWhatToSet(t *testing.T) {
	t.Parallel()
	i := newInstall(t, modeltest.Script{}, "OPENAI_API_KEY=")
	f := i.failingAsk("--model", "gpt-5.6-sol")
	require.Contains(t, f.message+f.remedy, "OPENAI_API_KEY")
	t.Log(f)
	demo := i.start("ask", "--workspace", i.work, "--model", "demo", "--approve", "never", "what is here?")
	require.Zero(t, demo.wait(), "nothing else breaks: "+demo.describe())
}

func TestAWrongKeyIsNamedButNotShown(t *testing.T) {
	t.Parallel()
	script := rules(say("hello", "Hello."))
	script.Key = "another"
	i := newInstall(t, script)
	f := i.failingAsk()
	require.Contains(t, f.message, "key")
	require.NotContains(t, f.message+f.remedy, canaryKey)
}

func TestAnUnreachableModelSaysWhere(t *testing.T) {
	t.Parallel()
	i := newInstall(t, modeltest.Script{}, "OPENAI_BASE_URL=http://127.0.0.1:9/v1", "OPENAI_API_KEY=x")
	f := i.failingAsk()
	require.Contains(t, f.message, "127.0.0.1:9")
}

func TestNoTemporalSaysWhatWasTried(t *testing.T) {
	t.Parallel()
	i := newInstall(t, modeltest.Script{}, "TEMPORAL_ADDRESS=127.0.0.1:9")
	began := time.Now()
	out, _, status := i.run("ask", "--workspace", i.work, "--json", "hello")
	require.Equal(t, 1, status)
	require.Contains(t, out, `"temporalUnavailable"`)
	require.Contains(t, out, "127.0.0.1:9")
	require.Contains(t, out, "remedy")
	t.Log(time.Since(began), out)
}

func TestAModelThatFailsTwiceThenWorks(t *testing.T) {
	t.Parallel()
	i := newInstall(t, modeltest.Script{Rules: []modeltest.Rule{{
		Match: modeltest.Match{LastUser: "hello"}, Respond: modeltest.Answer{Text: "Hello at last."}, Fault: &modeltest.Fault{Times: 2, Status: 500},
	}}})
	s := i.start("ask", "--workspace", i.work, "hello")
	require.Zero(t, s.wait(), s.describe())
	require.Equal(t, []string{"Hello at last."}, answers(s.durable()))
	s.until("the reason", func(e editors.EventMessage) bool {
		return e.Event.Type == editors.StateChanged && bytes.Contains([]byte(e.Event.State.Reason), []byte("retry 2 of 5"))
	})
}

func TestAStreamCutHalfWayGivesOneCleanText(t *testing.T) {
	t.Parallel()
	i := newInstall(t, modeltest.Script{Rules: []modeltest.Rule{{
		Match: modeltest.Match{LastUser: "hello"}, Respond: modeltest.Answer{Text: "One two three four five six seven."},
		Chunking: modeltest.Chunking{Bytes: 4}, Fault: &modeltest.Fault{Times: 1, CutAfterChunks: n(4)},
	}}})
	s := i.start("ask", "--workspace", i.work, "hello")
	require.Zero(t, s.wait(), s.describe())
	require.Equal(t, []string{"One two three four five six seven."}, answers(s.durable()))
	attempts := map[int]bool{}
	for _, e := range s.all() {
		if e.Event.Type == editors.ItemDelta {
			attempts[e.Event.Attempt] = true
		}
	}
	require.True(t, attempts[2], "the second attempt is told")
}

// reasons are why the session waited.
func reasons(events []editors.EventMessage) string {
	var out []string
	for _, e := range events {
		if e.Event.Type == editors.StateChanged {
			out = append(out, e.Event.State.Reason)
		}
	}
	return strings.Join(out, "\n")
}

func TestARateLimitIsWaitedForAsLongAsTheServerAsks(t *testing.T) {
	t.Parallel()
	i := newInstall(t, modeltest.Script{Rules: []modeltest.Rule{{
		Match: modeltest.Match{LastUser: "hello"}, Respond: modeltest.Answer{Text: "Hello at last."},
		Fault: &modeltest.Fault{Times: 1, Status: 429, RetryAfter: "3"},
	}}})
	s := i.start("ask", "--workspace", i.work, "hello")
	require.Zero(t, s.wait(), s.describe())
	require.Equal(t, []string{"Hello at last."}, answers(s.durable()))
	require.Contains(t, reasons(s.durable()), "retry 2 of 5 in 3s")
	require.Contains(t, reasons(s.durable()), "rate limit")
	var limited, answered time.Time
	for _, e := range s.durable() {
		switch {
		case e.Event.Type == editors.StateChanged && strings.Contains(e.Event.State.Reason, "retry 2"):
			limited = e.At
		case e.Event.Type == editors.TurnEnded:
			answered = e.At
		}
	}
	require.GreaterOrEqual(t, answered.Sub(limited), 3*time.Second)
}

func TestASilentModelIsAskedAgain(t *testing.T) {
	t.Parallel()
	i := newInstall(t, modeltest.Script{Rules: []modeltest.Rule{{
		Match: modeltest.Match{LastUser: "hello"}, Respond: modeltest.Answer{Text: "One two three four five."},
		Chunking: modeltest.Chunking{Bytes: 4}, Fault: &modeltest.Fault{Times: 1, StallAfterChunks: n(3)},
	}}}, "SANDBOX_AGENT_OPENAI_IDLE_TIMEOUT=1s")
	s := i.start("ask", "--workspace", i.work, "hello")
	require.Zero(t, s.wait(), s.describe())
	require.Equal(t, []string{"One two three four five."}, answers(s.durable()))
	require.Contains(t, reasons(s.durable()), "sent nothing for 1s")
	for _, e := range s.durable() {
		if e.Event.Type == editors.ItemEnded && e.Event.Item.Kind == editors.AgentMessage {
			require.Equal(t, 2, e.Event.Item.Attempt, "the attempt is told")
		}
	}
}

func TestTheEffortIsTheSessions(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(say("hello", "Hello.")))
	session := i.session()
	i.done(session, "hello")
	i.ok(nil, "configure", session, "--effort", "high")
	i.done(session, "hello again")
	requests := i.model.Requests()
	require.NotContains(t, string(requests[0].Body), `"effort"`)
	require.Contains(t, string(requests[len(requests)-1].Body), `"effort":"high"`)
}

// TestTheKeyLeaksNowhere looks for the key in everything the installation wrote, and in what its processes show.
func TestTheKeyLeaksNowhere(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("show", "exec_command", `{"command":"env; cat /proc/$PPID/environ | tr '\\0' '\\n'"}`, "Shown.")))
	s := i.start("ask", "--workspace", i.work, "--approve", "never", "show the environment")
	require.Zero(t, s.wait(), s.describe())
	require.NotContains(t, s.describe(), canaryKey, "the events")
	i.requireNotOnDisk(canaryKey)
	for _, pid := range i.processes() {
		argv, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		require.NotContains(t, string(argv), canaryKey, "argv of a process")
		exe, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if filepath.Base(exe) == "sandbox-helper" || filepath.Base(exe) == "sandbox-temporal" {
			env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
			require.NotContains(t, string(env), canaryKey, "environment of "+exe)
		}
	}
}

func (i *install) requireNotOnDisk(secret string) {
	i.Helper()
	err := filepath.WalkDir(i.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte(secret)) {
			i.Errorf("the key is in %s", path)
		}
		return nil
	})
	require.NoError(i, err)
}
