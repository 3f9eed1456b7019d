// This file tests the small verbs, and how the program reports errors.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/server/core"
)

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"nope"},
		{"ask"},
		{"ask", " "},
		{"ask", "--nope", "x"},
		{"ask", "--approve", "maybe", "x"},
		{"ask", "--image", "x", "y"},
		{"ask", "--session", "a", "--new", "x"},
		{"sessions", "x"},
		{"worker"},
		{"worker", "nope"},
		{"title", "s1"},
		{"configure", "s1"},
		{"queue", "s1", "text"},
		{"approve"},
		{"approve", "--deny", "--always", "s1"},
		{"approve", "--pattern", "make *", "s1"},
		{"approve", "--workspace", "s1"},
		{"approve", "--feedback", "no", "s1"},
		{"approve", "--show", "--always", "s1"},
		{"switch", "s1"},
		{"switch"},
		{"switch", "--into", ".", "docker"},
		{"switch", "--image", "x", "local"},
		{"switch", "--yes", "local"},
		{"switch", "--on-conflict", "both", "local"},
		{"fork", "--turn", "-1", "s1"},
		{"fork", "--image", "x", "s1"},
		{"fork", "--into", "x", "s1"},
		{"fork", "--title", "x", "s1", "y"},
		{"fork", "--workspace", ".", "s1"},
		{"adopt"},
		{"adopt", "--on-conflict", "both", "s1"},
	} {
		out := runVerb(t, newFake(), args...)
		require.Equal(t, statusUsage, out.status, "%q", args)
		require.Empty(t, out.stdout, "%q", args)
		require.Contains(t, out.stderr, "--help", "%q", args)
	}
	const noFolder = "Error: There is no folder \"/does/not/exist\"\nName one that exists, or make it first.\n"
	require.Equal(t, outcome{statusUsage, "", noFolder}, runVerb(t, newFake(), "ask", "--workspace", "/does/not/exist", "x"))
	out := runVerb(t, newFake(), "ask", "--json")
	require.Equal(t, statusUsage, out.status)
	require.Contains(t, out.stdout, `{"error":{"code":"invalidParams"`)
}

func TestHelp(t *testing.T) {
	out := runVerb(t, newFake(), "--help")
	require.Equal(t, statusDone, out.status)
	for _, verb := range []string{"ask", "attach", "sessions", "new", "title", "switch", "fork", "adopt", "pause", "destroy", "interrupt", "stop", "approve", "rules", "history", "doctor", "version", "worker", "lsp"} {
		require.Contains(t, out.stdout, "\n  "+verb+" ")
	}
}

func TestErrorsOfVerbs(t *testing.T) {
	f := newFake()
	editors.Handle(&f.mux, editors.Pause, func(context.Context, editors.SessionParams) (editors.Empty, error) {
		return editors.Empty{}, editors.Errorf(editors.CodeTemporalUnavailable, "no Temporal server answers").WithRemedy("Start it.")
	})
	require.Equal(t, outcome{
		statusFailed, "", "Error: No Temporal server answers\nStart it.\nRepeated with --request-id r it does nothing twice.\n",
	}, runVerb(t, f, "pause", "--request-id", "r", "s1"))
	require.Equal(t, outcome{
		statusFailed, `{"error":{"code":"temporalUnavailable","message":"no Temporal server answers","remedy":"Start it.","retryable":true,"requestId":"r"}}` + "\n", "",
	}, runVerb(t, f, "pause", "--json", "--request-id", "r", "s1"))
}

func TestSmallVerbs(t *testing.T) {
	f := newFake()
	f.snapshot.Session.TurnID = 7
	f.sessions = []editors.Session{{ID: "s1", Title: "Fix\x1b the build", State: editors.State{Status: editors.StatusIdle}, Backend: editors.Backend{Kind: editors.Local}, Model: "demo", WorkspaceFolder: "file:///w%20s"}}
	f.worker = core.WorkerStatus{Log: "the.log"}
	editors.Handle(&f.mux, editors.Title, func(_ context.Context, p editors.TitleParams) (editors.SessionResult, error) {
		return editors.SessionResult{Session: editors.Session{Title: p.Title}}, nil
	})
	editors.Handle(&f.mux, editors.Destroy, func(_ context.Context, p editors.SessionParams) (editors.DestroyResult, error) {
		if p.SessionID == "s2" {
			return editors.DestroyResult{Remains: "Its sandbox is still there."}, nil
		}
		return editors.DestroyResult{}, nil
	})
	editors.Handle(&f.mux, editors.Queue, func(context.Context, editors.QueueParams) (editors.QueueResult, error) {
		return editors.QueueResult{Queued: []editors.QueuedMessage{{ItemID: "i3", Text: "and\nthen"}}}, nil
	})
	editors.Handle(&f.mux, editors.History, func(context.Context, editors.HistoryParams) (editors.HistoryResult, error) {
		return editors.HistoryResult{Items: []editors.Item{{ID: "i2", Kind: editors.AgentMessage, Text: "Hello"}}, Before: "c"}, nil
	})
	for _, tt := range []struct{ args, stdout string }{
		{"title s1 A new title", "s1 is now titled \"A new title\".\n"},
		{"new", "s1\n"},
		{"destroy s1", "s1 is destroyed.\n"},
		{"destroy s1 --json", "{}\n"},
		{"destroy s2", "s2 is ended. Its sandbox is still there.\n"},
		{"configure s1 --approve auto", "s1: model demo, approvals auto\n"},
		{"interrupt s1", "Turn 7 is interrupted.\n"},
		{"queue s1", "i3  and then\n"},
		{"history s1", "Hello\n"},
		{"worker stop", "The worker is stopped.\n"},
		{"worker status", "The worker does not run. It starts when it is needed, or by: sandbox-agent worker start\nLog: the.log\n"},
		{"sessions", "SESSION  TITLE          STATE  BACKEND  MODEL  UPDATED  FOLDER\ns1       Fix the build  idle   local    demo   -        /w s\n"},
	} {
		out := runVerb(t, f, strings.Fields(tt.args)...)
		require.Equal(t, statusDone, out.status, "%s: %s", tt.args, out.stderr)
		require.Equal(t, tt.stdout, out.stdout, tt.args)
	}
}

func TestStop(t *testing.T) {
	f := newFake()
	var asked []editors.StopParams
	editors.Handle(&f.mux, editors.Stop, func(_ context.Context, p editors.StopParams) (editors.StopResult, error) {
		asked = append(asked, p)
		return editors.StopResult{ItemID: p.ItemID, StoppedBy: "terminal", How: "Stopped by the user (terminal) after 3.0 s with all it started."}, nil
	})
	out := runVerb(t, f, "stop", "s1")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "No command of this session runs")

	f.snapshot.Items = []editors.Item{
		{ID: "i2", Kind: editors.AgentMessage, Status: editors.ItemInProgress},
		{ID: "i3", Kind: editors.ToolCall, Status: editors.ItemCompleted},
		{ID: "i4", Kind: editors.ToolCall, Status: editors.ItemInProgress, Tool: "exec_command", Text: "make"},
	}
	require.Equal(t, outcome{statusDone, "i4: Stopped by the user (terminal) after 3.0 s with all it started.\n", ""}, runVerb(t, f, "stop", "s1"))
	f.snapshot.Background = []editors.BackgroundCommand{{ItemID: "i1", Command: "npm run dev"}}
	out = runVerb(t, f, "stop", "s1")
	require.Equal(t, statusUsage, out.status)
	require.Contains(t, out.stderr, "i4 (make), i1 (npm run dev)")
	require.Equal(t, statusDone, runVerb(t, f, "stop", "s1", "i1").status)
	require.Equal(t, []string{"i4", "i1"}, []string{asked[0].ItemID, asked[1].ItemID})
}

func TestApprove(t *testing.T) {
	f := newFake()
	out := runVerb(t, f, "approve", "s1")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "No approval is pending")
	f.snapshot.PendingApprovals = []editors.Approval{{ID: "a1", Tool: "exec_command", Subject: "make", Reason: "it writes", Pattern: "make"}}
	require.Equal(t, outcome{statusDone, "a1  exec_command: make\n    it writes\n    --always allows: make\n", ""}, runVerb(t, f, "approve", "--show", "s1"))
	require.Equal(t, statusFailed, runVerb(t, f, "approve", "--show", "s1", "a9").status)
	f.snapshot.PendingApprovals[0].Reason, f.snapshot.PendingApprovals[0].Subject = "it writes x\na2  exec_command: ls", "make\na2  exec_command: ls"
	require.Equal(t, "a1  exec_command: make\n      a2  exec_command: ls\n    it writes x\\na2  exec_command: ls\n    --always allows: make\n",
		runVerb(t, f, "approve", "--show", "s1").stdout, "no name makes a line of its own")
	f.snapshot.PendingApprovals[0].Subject = "make"
	require.Equal(t, outcome{statusDone, "a1 was answered by terminal: allowAlways\nFrom now on this session runs without asking: make\n", ""}, runVerb(t, f, "approve", "--request-id", "r", "--always", "s1"))
	require.Equal(t, editors.AnswerApprovalParams{RequestID: "r", SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllowAlways, Scope: editors.ScopeSession}, <-f.answered)
	out = runVerb(t, f, "approve", "--request-id", "r", "--always", "--pattern", "make x", "--workspace", "s1")
	require.Equal(t, "a1 was answered by terminal: allowAlways\nFrom now on all sessions of this folder run without asking: make x\n", out.stdout)
	require.Equal(t, editors.AnswerApprovalParams{RequestID: "r", SessionID: "s1", ApprovalID: "a1", Decision: editors.DecisionAllowAlways, Pattern: "make x", Scope: editors.ScopeWorkspace}, <-f.answered)
	f.snapshot.PendingApprovals = append(f.snapshot.PendingApprovals, editors.Approval{ID: "a2"})
	out = runVerb(t, f, "approve", "s1")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "a1 (exec_command: make), a2")
	require.Equal(t, statusDone, runVerb(t, f, "approve", "--request-id", "r", "--deny", "--feedback", "no", "s1", "a2").status)
	require.Equal(t, editors.AnswerApprovalParams{RequestID: "r", SessionID: "s1", ApprovalID: "a2", Decision: editors.DecisionDeny, Feedback: "no"}, <-f.answered)
}

func TestDoctor(t *testing.T) {
	f := newFake()
	checks := []editors.Check{{Name: "worker", Status: "ok", Detail: "runs"}, {Name: "docker", Status: "warning", Detail: "is not there", Remedy: "Install it."}}
	editors.Handle(&f.mux, editors.Doctor, func(context.Context, editors.Empty) (editors.DoctorResult, error) {
		return editors.DoctorResult{Checks: checks}, nil
	})
	require.Equal(t, outcome{statusDone, "✓ worker: runs\n! docker: is not there\n    Install it.\n", ""}, runVerb(t, f, "doctor"))
	checks = append(checks, editors.Check{Name: "temporal", Status: "error", Detail: "is down"})
	out := runVerb(t, f, "doctor")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stdout, "✗ temporal: is down\n")
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)
	require.Equal(t, "-", since(time.Time{}, now))
	require.Equal(t, "just now", since(now, now))
	require.Equal(t, "5 min ago", since(now.Add(-5*time.Minute), now))
	require.Equal(t, "3 h ago", since(now.Add(-3*time.Hour), now))
	require.Equal(t, "2026-04-01", since(time.Date(2026, 4, 1, 0, 0, 0, 0, time.Local), now))
}

func TestLogFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	file := newLogFile(path, func(s string) string { return strings.ReplaceAll(s, "canary", "[redacted]") })
	other := newLogFile(path, func(s string) string { return s })
	newLogger(file, &strings.Builder{}, slog.LevelInfo).Info("a canary")
	_, err := other.Write([]byte("other\n"))
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "[redacted]")
	require.Contains(t, string(text), "other")
	require.NoError(t, os.Truncate(path, maxLogBytes))
	_, err = file.Write([]byte("new\n"))
	require.NoError(t, err)
	_, err = other.Write([]byte("too\n"))
	require.NoError(t, err)
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new\ntoo\n", string(text))
	require.FileExists(t, path+".1")
	file.Close()
	other.Close()
}

// TestMain lets the test binary stand in for the program.
func TestMain(m *testing.M) {
	if os.Getenv("SANDBOX_AGENT_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is the program itself in a private installation.
func program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = []string{"SANDBOX_AGENT_TEST_MAIN=1", "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "PATH=", "TEMPORAL_ADDRESS=127.0.0.1:1"}
	return cmd
}

func TestExitStatus(t *testing.T) {
	for _, tt := range []struct {
		args, stdin string
		status      int
		stdout      string
	}{
		{"version", "", statusDone, editors.Version},
		{"version --json", "", statusDone, `"version":"` + editors.Version + `"`},
		{"nope", "", statusUsage, ""},
		{"lsp --nope", "", statusUsage, ""},
		{"lsp", "", statusDone, ""},
		{"lsp --stdio", "Content-Length: 10\r\n\r\n{", statusDone, ""},
		{"lsp", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, statusUsage, "Content-Length framing"},
		{"lsp", "Content-Length: 33\r\n\r\n" + `{"jsonrpc":"2.0","method":"exit"}`, statusFailed, ""},
		{"lsp", "Content-Length: 58\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, statusDone, `"hostId":`},
	} {
		cmd := program(t, strings.Fields(tt.args)...)
		cmd.Stdin = strings.NewReader(tt.stdin)
		out, err := cmd.Output()
		require.Equal(t, tt.status, cmd.ProcessState.ExitCode(), "%s: %v", tt.args, err)
		require.Contains(t, string(out), tt.stdout, tt.args)
	}
}

func TestBrokenInstallation(t *testing.T) {
	cmd := program(t, "lsp")
	cmd.Env = append(cmd.Env, "SANDBOX_AGENT_APPROVAL=sometimes")
	var input strings.Builder
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"sandboxAgent/doctor","params":{}}`,
	} {
		fmt.Fprintf(&input, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	cmd.Stdin = strings.NewReader(input.String())
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), `"positionEncoding":"utf-16"`)
	require.Contains(t, string(out), `{"name":"configuration","status":"error"`, "the doctor works")
	require.Contains(t, string(out), "SANDBOX_AGENT_APPROVAL")
}

func TestDoctorExaminesWhatIsBroken(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		harm       func(home string) []string
	}{
		{"a wrong variable", "SANDBOX_AGENT_APPROVAL", func(string) []string { return []string{"SANDBOX_AGENT_APPROVAL=sometimes"} }},
		{"a file for the data", "/data", func(home string) []string {
			require.NoError(t, os.WriteFile(filepath.Join(home, "data"), nil, 0o600))
			return []string{"XDG_DATA_HOME=" + filepath.Join(home, "data")}
		}},
		{"a broken file", "config.toml", func(home string) []string {
			require.NoError(t, os.Mkdir(filepath.Join(home, "sandbox-agent"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(home, "sandbox-agent", "config.toml"), []byte("model = ["), 0o600))
			return []string{"XDG_CONFIG_HOME=" + home}
		}},
		{"no home", "HOME", func(string) []string { return []string{"HOME=relative"} }},
	} {
		cmd := program(t, "doctor")
		cmd.Env = append(cmd.Env, tt.harm(t.TempDir())...)
		out, err := cmd.Output()
		require.Equal(t, statusFailed, cmd.ProcessState.ExitCode(), "%s: %v", tt.name, err)
		require.Regexp(t, "✗ [^\n]*"+tt.says+"[^\n]*\n    [A-Z]", string(out), tt.name)
	}
}

// BenchmarkInitialize measures from the start of the process to the answer to initialize, with Temporal down.
func BenchmarkInitialize(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		cmd := program(b, "lsp")
		cmd.Env = append(cmd.Env, "HOME="+home, "XDG_RUNTIME_DIR="+home)
		stdin, err := cmd.StdinPipe()
		require.NoError(b, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		_, err = stdin.Write([]byte("Content-Length: 58\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
		require.NoError(b, err)
		_, err = stdout.Read(make([]byte, 1))
		require.NoError(b, err)
		b.StopTimer()
		require.NoError(b, stdin.Close())
		require.NoError(b, cmd.Process.Kill())
		_ = cmd.Wait()
		b.StartTimer()
	}
}

func TestWrongArgumentsAreToldInWords(t *testing.T) {
	for args, says := range map[string]string{
		"title s1":        "Title needs SESSION and TITLE",
		"destroy":         "Destroy needs SESSION",
		"destroy s1 s2":   "Destroy takes SESSION and nothing more",
		"ask":             "Ask needs TEXT|-",
		"sessions x":      "Sessions takes no arguments",
		"attach a b":      "Attach takes [SESSION] and nothing more",
		"worker status x": "Status takes no arguments",
	} {
		out := runVerb(t, newFake(), strings.Fields(args)...)
		require.Equal(t, statusUsage, out.status, args)
		require.Contains(t, out.stderr, "Error: "+says+"\n", args)
	}
}

func TestASessionIsNamedByTheBeginningOfItsID(t *testing.T) {
	f := newFake()
	f.sessions = []editors.Session{{ID: "8c1f0000-1", Title: "One"}, {ID: "8c1f1111-2", Title: "Two"}}
	var paused []string
	editors.Handle(&f.mux, editors.Pause, func(_ context.Context, p editors.SessionParams) (editors.Empty, error) {
		paused = append(paused, p.SessionID)
		return editors.Empty{}, nil
	})
	require.Equal(t, outcome{statusDone, "8c1f1111-2 is paused: its sandbox stops until you ask again, and its files stay.\n", ""}, runVerb(t, f, "pause", "8c1f1"))
	out := runVerb(t, f, "pause", "8c1f")
	require.Equal(t, statusFailed, out.status)
	require.Contains(t, out.stderr, "2 sessions begin with 8c1f")
	require.Contains(t, out.stderr, "8c1f0000-1 (One), 8c1f1111-2 (Two)")
	require.Equal(t, statusDone, runVerb(t, f, "pause", "8c1").status, "too short to stand for another")
	require.Equal(t, statusDone, runVerb(t, f, "pause", "nope").status)
	require.Equal(t, []string{"8c1f1111-2", "8c1", "nope"}, paused)
}

func TestWarningsOfTheConfigurationAreShown(t *testing.T) {
	cmd := program(t, "sessions")
	config := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(config, "sandbox-agent"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(config, "sandbox-agent", "config.toml"), []byte("colour = \"red\"\n"), 0o600))
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+config)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.Error(t, cmd.Run())
	require.Equal(t, 1, strings.Count(stderr.String(), "unknown key colour is ignored"), stderr.String())
}

func TestPauseSaysWhatItMeans(t *testing.T) {
	f := newFake()
	editors.Handle(&f.mux, editors.Pause, func(context.Context, editors.SessionParams) (editors.Empty, error) { return editors.Empty{}, nil })
	for _, tt := range []struct {
		backend editors.BackendKind
		status  editors.Status
		says    string
	}{
		{editors.Local, editors.StatusPaused, "s1 is paused; its files stay where they are.\n"},
		{editors.Docker, editors.StatusPaused, "s1 is paused: its sandbox stops until you ask again, and its files stay.\n"},
		{editors.Docker, editors.StatusRunning, "s1 is paused when turn 2 has ended.\n"},
	} {
		f.snapshot.Session = editors.Session{ID: "s1", TurnID: 2, Backend: editors.Backend{Kind: tt.backend}}
		f.snapshot.State.Status = tt.status
		require.Equal(t, tt.says, runVerb(t, f, "pause", "s1").stdout)
	}
}

func TestRules(t *testing.T) {
	f := newFake()
	require.Contains(t, runVerb(t, f, "rules").stderr, "Nothing was allowed for always.")
	require.NotEmpty(t, f.ruled[0].WorkspaceFolder)
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)
	f.rules = []editors.Rule{
		{Scope: editors.ScopeSession, Tool: "exec_command", Pattern: "npm test *"},
		{Scope: editors.ScopeWorkspace, Tool: "exec_command", Pattern: "make", Backend: editors.Docker, By: "nvim", At: &at},
	}
	require.Equal(t, "WHERE                BY    SINCE       PATTERN\nthis session         -     -           npm test *\nthis folder, docker  nvim  2026-01-02  make\n", runVerb(t, f, "rules", "s1").stdout)
	require.Equal(t, editors.RulesParams{SessionID: "s1", Op: "list"}, f.ruled[1])
	out := runVerb(t, f, "rules", "--request-id", "r", "--remove", "make", "s1")
	require.Equal(t, "Asked about again in this session: npm test *\nAsked about again in this folder, docker: make\n", out.stdout)
	require.Equal(t, editors.RulesParams{RequestID: "r", SessionID: "s1", Op: "remove", Pattern: "make"}, f.ruled[2])
}
