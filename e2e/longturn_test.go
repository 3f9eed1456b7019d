package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/model/modeltest"
)

// rounds is a model that runs a command with so many bytes of output again and again until it was run n times.
func rounds(n, bytes int) modeltest.Script {
	command := fmt.Sprintf(`n=$(($(cat count 2>/dev/null || echo 0)+1)); echo $n > count; echo "round-$n-"; head -c %d /dev/zero | tr '\0' x`, bytes)
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return rules(
		modeltest.Rule{Name: "title", Match: modeltest.Match{Instructions: "You name conversations"}, Respond: modeltest.Answer{Text: "Counting rounds"}},
		modeltest.Rule{Name: "summary", Match: modeltest.Match{Instructions: "You summarise the work"}, Respond: modeltest.Answer{Text: "DECIDED: count on"}},
		say("begin", "Begun."),
		modeltest.Rule{Match: modeltest.Match{LastToolResult: fmt.Sprintf("round-%d-", n)}, Respond: modeltest.Answer{Text: "Counted."}},
		modeltest.Rule{Name: "round", Match: modeltest.Match{LastUser: "WORK"}, Respond: modeltest.Answer{ToolCalls: []modeltest.ToolCall{{Name: "exec_command", Arguments: arguments}}}},
	)
}

func (i *install) configure(text string) {
	i.Helper()
	require.NoError(i, os.MkdirAll(filepath.Dir(i.paths.ConfigFile), 0o700))
	require.NoError(i, os.WriteFile(i.paths.ConfigFile, []byte(text), 0o600))
}

// TestALongTurnIsCompactedAndGoesOn forces compactions in the middle of a task.
func TestALongTurnIsCompactedAndGoesOn(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rounds(30, 3000))
	i.configure("[models.scripted]\nwindow = 9000\ninput = 1\noutput = 2\n")
	session := i.session()
	i.done(session, "begin")
	s := i.start("ask", "--session", session, "--approve", "never", "WORK until 30")
	require.Zero(t, s.wait(), s.describe())
	events := s.durable()
	require.Equal(t, "Counted.", answers(events)[len(answers(events))-1])
	require.Equal(t, "30\n", i.read("count"), "each round once")

	compacted := 0
	for _, e := range events {
		if e.Event.Type == editors.ItemEnded && e.Event.Item.Kind == editors.Notice && strings.HasPrefix(e.Event.Item.Text, "Compacted the conversation from") {
			compacted++
		}
	}
	require.Greater(t, compacted, 2)
	last := events[len(events)-1].Event.Usage
	require.NotNil(t, last)
	require.Positive(t, last.Cost)
	require.Zero(t, last.UnpricedCalls)

	summaries, longest := 0, 0
	for _, r := range i.model.Requests() {
		require.Empty(t, r.Error, "every request is one that the API takes")
		if r.Rule == "summary" {
			summaries++
		}
		if r.Rule == "round" {
			longest = max(longest, len(r.Body))
		}
	}
	require.Positive(t, summaries)
	require.Less(t, longest, 9000*4+20_000)
	final := i.model.Requests()[len(i.model.Requests())-1]
	for _, pinned := range []string{"WORK until 30", "DECIDED: count on", i.work} {
		require.Contains(t, string(final.Body), pinned)
	}

	var page editors.HistoryResult
	i.ok(&page, "history", session, "--limit", "200")
	texts, _ := json.Marshal(page.Items)
	require.Contains(t, string(texts), "round-1-", "the history keeps what the model no longer sees")

	var forked editors.SessionResult
	i.ok(&forked, "fork", session, "--turn", "1")
	before := len(i.model.Requests())
	i.done(forked.Session.ID, "begin again")
	body := string(i.model.Requests()[before].Body)
	require.Contains(t, body, "Begun.", "a fork from before the cut has the whole of it")
	require.NotContains(t, body, "<summary>")

	i.eventually("the title", func() bool { return i.listed(session).Title == "Counting rounds" })
	require.Equal(t, editors.TitleGenerated, i.listed(session).TitleSource)
	require.Positive(t, i.listed(session).Usage.Cost)
	require.EqualValues(t, 9000, i.listed(session).ContextWindow)
}

// TestATurnWaitsAtItsBudget goes on after a restart, and only when it is allowed to.
func TestATurnWaitsAtItsBudget(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rounds(6, 10))
	session := i.session()
	i.ok(nil, "configure", session, "--budget", "turn-calls=4", "--approve", "never")
	s := i.start("ask", "--session", session, "WORK")
	asked := s.until("the question", isType(editors.ApprovalRequested)).Event.Approval
	require.Equal(t, "budget", asked.Tool)
	require.Contains(t, asked.Subject, "4 model calls")
	i.ok(nil, "worker", "stop")
	i.ok(nil, "worker", "start")
	require.Equal(t, "4\n", i.read("count"))
	i.ok(nil, "approve", session, asked.ID)
	i.eventually("the end", func() bool { return i.listed(session).State.Status == editors.StatusIdle })
	require.Equal(t, "6\n", i.read("count"))
}

// TestAThousandModelCalls takes one turn through a thousand calls in a window of 200,000 tokens. It takes minutes.
func TestAThousandModelCalls(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_FULL") == "" {
		t.Skip("takes minutes; runs with SANDBOX_TEST_FULL=1 (make test-full)")
	}
	const calls = 1000
	i := newInstall(t, rounds(calls, 20_000))
	i.configure("[models.scripted]\nwindow = 200000\n")
	session := i.session()
	i.ok(nil, "configure", session, "--budget", "turn-calls=5000", "--approve", "never")
	i.ok(nil, "ask", "--session", session, "begin")
	s := i.start("ask", "--session", session, "WORK until the end")
	var early, late int
	for at := 0; ; {
		e := s.until("progress", func(e editors.EventMessage) bool {
			return e.Event.Type == editors.TurnEnded || e.Event.Type == editors.ItemEnded && e.Event.Item.Kind == editors.ToolCall && e.Seq > int64(at)
		})
		if e.Event.Type == editors.TurnEnded {
			break
		}
		at = int(e.Seq)
		if count := i.counted(); count >= 200 && early == 0 {
			early = rss(t, i.workerInfo().PID)
		} else if count > calls-20 {
			late = rss(t, i.workerInfo().PID)
		}
	}
	require.Zero(t, s.wait(), s.describe())
	require.Equal(t, calls, i.counted())
	events, bytes, runs := i.histories(session)
	t.Logf("%d runs; the largest has %d events, %d bytes; the worker has %d MB after 200 calls, %d MB at the end", runs, events, bytes, early>>10, late>>10)
	require.Less(t, events, int64(4000))
	require.Less(t, bytes, int64(4<<20))
	require.Less(t, late, early*3/2+50<<10, "memory does not grow with the conversation")
}

func (i *install) counted() int {
	b, err := os.ReadFile(filepath.Join(i.work, "count"))
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// rss is the memory of a process in KiB.
func rss(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(t, err)
	m := resident.FindSubmatch(status)
	require.NotNil(t, m)
	kib, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	return kib
}
