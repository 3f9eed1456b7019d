// This file tests that verbs which change something can be repeated.

package main

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// noted has a command note under which id it was asked for, and fail.
func noted[P, R any](f *fake, ids *[]string, d editors.Def[P, R]) {
	editors.Handle(&f.mux, d, func(_ context.Context, p P) (R, error) {
		var none R
		*ids = append(*ids, d.Name+" "+reflect.ValueOf(p).FieldByName("RequestID").String())
		return none, editors.Errorf(editors.CodeWorkerUnavailable, "no worker has answered")
	})
}

// looking is a fake that answers only who looks.
func looking(sessions ...editors.Session) *fake {
	f := &fake{attached: make(chan struct{}, 10), sessions: sessions}
	f.snapshot = editors.AttachResult{
		Session: editors.Session{ID: "s1", TurnID: 1}, State: editors.State{Status: editors.StatusRunning},
		Items: []editors.Item{{ID: "i1", TurnID: 1, Kind: editors.ToolCall, Tool: "exec_command", Status: editors.ItemInProgress}},
	}
	editors.Handle(&f.mux, editors.Sessions, func(context.Context, editors.SessionsParams) (editors.SessionsResult, error) {
		return editors.SessionsResult{Sessions: f.sessions}, nil
	})
	editors.Handle(&f.mux, editors.Attach, func(context.Context, editors.AttachParams) (editors.AttachResult, error) { return f.snapshot, nil })
	editors.Handle(&f.mux, editors.Detach, func(context.Context, editors.SessionParams) (editors.Empty, error) { return editors.Empty{}, nil })
	return f
}

func TestEveryVerbThatChangesSomethingCanBeRepeated(t *testing.T) {
	for _, tt := range []struct{ args, id, found string }{
		{"ask x", "new r/new", ""},
		{"new", "new r", ""},
		{"switch docker", "switch r", "s2"},
		{"switch --session s1 docker", "switch r", ""},
		{"fork", "fork r", "s2"},
		{"fork s1", "fork r", ""},
		{"adopt s1", "adopt r", ""},
		{"title s1 x", "title r", ""},
		{"configure s1 --model x", "configure r", ""},
		{"compact s1", "compact r", ""},
		{"pause s1", "pause r", ""},
		{"destroy s1", "destroy r", ""},
		{"interrupt s1", "interrupt r", ""},
		{"stop s1 i1", "stop r", ""},
		{"approve s1 a1", "answerApproval r", ""},
		{"rules s1 --remove x", "rules r", ""},
		{"queue s1 --remove i1", "queue r", ""},
		{"checkpoint s1", "checkpoint r", ""},
		{"restore s1 abab", "restore r", ""},
	} {
		f := looking()
		if tt.found != "" {
			f.sessions = []editors.Session{{ID: "s2"}}
		}
		var ids []string
		noted(f, &ids, editors.New)
		noted(f, &ids, editors.Switch)
		noted(f, &ids, editors.Fork)
		noted(f, &ids, editors.Adopt)
		noted(f, &ids, editors.Title)
		noted(f, &ids, editors.Configure)
		noted(f, &ids, editors.Compact)
		noted(f, &ids, editors.Pause)
		noted(f, &ids, editors.Destroy)
		noted(f, &ids, editors.Interrupt)
		noted(f, &ids, editors.Stop)
		noted(f, &ids, editors.AnswerApproval)
		noted(f, &ids, editors.Rules)
		noted(f, &ids, editors.Queue)
		noted(f, &ids, editors.TakeCheckpoint)
		noted(f, &ids, editors.Restore)
		out := runVerb(t, f, strings.Fields(tt.args+" --request-id r")...)
		require.Equal(t, []string{tt.id}, ids, "%s: %s", tt.args, out.stderr)
		where := ""
		if tt.found != "" {
			where = " for session " + tt.found
		}
		require.Contains(t, out.stderr, "Repeated"+where+" with --request-id r it does nothing twice.", tt.args)
	}
}

func TestAskTellsHowItCanBeRepeated(t *testing.T) {
	f := looking(editors.Session{ID: "s1", HostID: "host"})
	var ids []string
	noted(f, &ids, editors.Ask)
	out := runVerb(t, f, "ask", "--json", "x")
	require.Len(t, ids, 1)
	_, id, _ := strings.Cut(ids[0], " ")
	require.Len(t, id, 36, "one of its own")
	require.Contains(t, out.stdout, `"requestId":"`+id+`","sessionId":"s1"`)

	f = looking(editors.Session{ID: "s1", HostID: "host"})
	editors.Handle(&f.mux, editors.Ask, func(context.Context, editors.AskParams) (editors.AskResult, error) {
		return editors.AskResult{}, editors.Errorf(editors.CodeLimit, "the queue is full")
	})
	require.NotContains(t, runVerb(t, f, "ask", "x").stderr, "--request-id", "that was an answer")
	require.Equal(t, statusUsage, runVerb(t, f, "ask", "--request-id", strings.Repeat("x", 101), "x").status)
	require.Equal(t, statusUsage, runVerb(t, f, "restore", "--request-id", "r", "abab").status, "nobody keeps it for folders")
}

func TestAskRepeatedShowsWhatCameOfIt(t *testing.T) {
	f := looking(editors.Session{ID: "s1", HostID: "host"})
	f.snapshot.Seq, f.snapshot.State.Status = 9, editors.StatusIdle
	f.snapshot.Items = nil
	for i, e := range answerTurn() {
		f.snapshot.Events = append(f.snapshot.Events, editors.EventMessage{SessionID: "s1", Seq: int64(3 + i), Event: e})
	}
	editors.Handle(&f.mux, editors.Ask, func(context.Context, editors.AskParams) (editors.AskResult, error) {
		return editors.AskResult{SessionID: "s1", TurnID: 1, ItemID: "i1", Seq: 2}, nil
	})
	require.Equal(t, outcome{statusDone, "Hello\n", ""}, runVerb(t, f, "ask", "--request-id", "r", "x"))
}

func TestAnInterruptWhileNobodyAnswersTellsHowToRepeat(t *testing.T) {
	for _, args := range [][]string{{"ask", "--request-id", "r", "x"}, {"title", "--request-id", "r", "s1", "x"}} {
		f := looking(editors.Session{ID: "s1", HostID: "host"})
		waits := make(chan struct{})
		wait := func(ctx context.Context) error {
			close(waits)
			select {
			case <-ctx.Done():
				return editors.Errorf(editors.CodeCancelled, "asking was cancelled")
			case <-time.After(deadline):
				return errors.New("nothing cancels it")
			}
		}
		editors.Handle(&f.mux, editors.Ask, func(ctx context.Context, _ editors.AskParams) (editors.AskResult, error) {
			return editors.AskResult{}, wait(ctx)
		})
		editors.Handle(&f.mux, editors.Title, func(ctx context.Context, _ editors.TitleParams) (editors.SessionResult, error) {
			return editors.SessionResult{}, wait(ctx)
		})
		r := start(t, f, terminal{}, strings.NewReader(""), args...)
		<-waits
		require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
		out := r.wait()
		require.Equal(t, statusFailed, out.status)
		require.Contains(t, out.stderr, "Asking was cancelled\n")
		require.Contains(t, out.stderr, "with --request-id r it does nothing twice.")
	}
}
