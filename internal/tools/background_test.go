// This file checks that no command holds a turn up for ever: what does not end goes on in the background, what asks is told,
// and what a user stops says who did it.

package tools

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
)

func endless(p *fake.Process) int { p.Print("ready\n"); <-p.Context().Done(); return 0 }

func TestWhatDoesNotEndGoesOnInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("serve", endless)
		result := r.run(t.Context(), call("fg", execCommand, obj{"command": "serve"}))
		require.Equal(t, editors.ItemCompleted, result.Status)
		require.True(t, result.Running)
		require.Nil(t, result.ExitCode)
		require.Equal(t, "Still running after 2m0s as command fg; look at it, write to it or kill it with write_stdin.\nOutput:\nready\n", result.ForModel)
		require.Zero(t, r.box.Calls("Kill"))

		result = r.run(t.Context(), call("e1", writeStdin, obj{"command_id": "fg"}))
		require.True(t, result.Running)
		require.NotContains(t, result.ForModel, "ready", "that was told")
		result = r.run(t.Context(), call("e2", writeStdin, obj{"command_id": "fg", "kill": true}))
		require.False(t, result.Running)
		require.Empty(t, result.StoppedBy, "the model did it")

		result = r.run(t.Context(), call("soon", execCommand, obj{"command": "serve", "yield_ms": 3000}))
		require.Contains(t, result.ForModel, "Still running after 3.0 s as command soon")
		require.NoError(t, r.box.Kill(t.Context(), "soon"))
	})
}

func TestWhatAsksIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		var told []Quiet
		r.env.OnQuiet = func(q Quiet) { told = append(told, q) }
		began := time.Now()
		r.box.Program("ask", func(p *fake.Process) int {
			time.Sleep(2 * time.Second)
			p.Print("Name? ")
			p.Asks(true)
			<-p.Context().Done()
			return 0
		})
		result := r.run(t.Context(), call("fg", execCommand, obj{"command": "ask", "tty": true}))
		require.True(t, result.Running)
		require.Contains(t, result.ForModel, "Still running after 7.0 s as command fg, and it waits for input.")
		require.Contains(t, result.ForModel, "--yes", "it says what can be done")
		require.Equal(t, []Quiet{{Since: began.Add(2 * time.Second), Asks: true}}, told)

		before := time.Now()
		result = r.run(t.Context(), call("e1", writeStdin, obj{"command_id": "fg", "yield_ms": 60_000}))
		require.Contains(t, result.ForModel, "it waits for input")
		require.Zero(t, time.Since(before), "nothing comes until it is answered")
		require.NoError(t, r.box.Kill(t.Context(), "fg"))
	})
}

func TestWhatWantsATerminalThatItHasNotGotIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("vi", func(p *fake.Process) int {
			p.Asks(true)
			<-p.Context().Done()
			return 0
		})
		result := r.run(t.Context(), call("fg", execCommand, obj{"command": "vi"}))
		require.True(t, result.Running)
		require.Contains(t, result.ForModel, "Still running after 5.0 s as command fg, and it waits for input from a terminal that it does not have.")
		require.NotContains(t, result.ForModel, "Answer it", "nobody can")
		require.NoError(t, r.box.Kill(t.Context(), "fg"))
	})
}

func TestLongSilenceIsToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		began := time.Now()
		var told, at []time.Duration
		r.env.OnQuiet = func(q Quiet) {
			require.False(t, q.Asks)
			at = append(at, time.Since(began))
			if q.Since.IsZero() {
				told = append(told, -1)
			} else {
				told = append(told, q.Since.Sub(began))
			}
		}
		r.box.Program("slow", func(p *fake.Process) int {
			for range 20 {
				time.Sleep(40 * time.Second)
				p.Print(".")
			}
			time.Sleep(200 * time.Second)
			return 0
		})
		result := r.run(t.Context(), call("fg", execCommand, obj{"command": "slow", "yield_ms": 600_000}))
		require.True(t, result.Running)
		result = r.run(t.Context(), call("e1", writeStdin, obj{"command_id": "fg", "yield_ms": 600_000}))
		require.Zero(t, *result.ExitCode)
		require.Equal(t, []time.Duration{0, -1, 600 * time.Second, -1, 800 * time.Second}, told)
		require.Equal(t, []time.Duration{30 * time.Second, 40 * time.Second, 630 * time.Second, 640 * time.Second, 860 * time.Second}, at,
			"each time it takes twice as long, and another call begins anew")
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("serve", endless)
		time.AfterFunc(12*time.Second, func() {
			ended, already, err := Stop(context.Background(), r.env, "fg", "vscode")
			require.NoError(t, err)
			require.False(t, already)
			require.Equal(t, Ended{How: "Stopped by the user (vscode) after 12.0 s with all it started.", Duration: 12 * time.Second, StoppedBy: "vscode"}, ended)
		})
		stopped := call("fg", execCommand, obj{"command": "serve"})
		result := r.run(t.Context(), stopped)
		require.Equal(t, editors.ItemInterrupted, result.Status)
		require.Equal(t, "vscode", result.StoppedBy)
		require.Equal(t, "stopped by vscode after 12.0 s", result.Error)
		require.Equal(t, "Stopped by the user (vscode) after 12.0 s with all it started.\nOutput:\nready\n", result.ForModel)
		require.Equal(t, result, r.run(t.Context(), stopped), "a call that is found again tells the same")

		ended, already, err := Stop(t.Context(), r.env, "fg", "nvim")
		require.NoError(t, err)
		require.True(t, already)
		require.Equal(t, "vscode", ended.StoppedBy, "who was first counts")
	})
}

func TestStopBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		runs := 0
		r.box.Program("serve", func(*fake.Process) int { runs++; return 0 })
		ended, already, err := Stop(t.Context(), r.env, "fg", "vscode")
		require.NoError(t, err)
		require.False(t, already)
		require.Equal(t, "Stopped by the user (vscode) before it started: it did not run.", ended.How)
		_, already, err = Stop(t.Context(), r.env, "fg", "nvim")
		require.NoError(t, err)
		require.True(t, already)

		result := r.run(t.Context(), call("fg", execCommand, obj{"command": "serve"}))
		require.Equal(t, editors.ItemInterrupted, result.Status)
		require.Equal(t, "vscode", result.StoppedBy)
		require.Contains(t, result.ForModel, "it did not run")
		require.Zero(t, runs)
	})
}

func TestStopOfWhatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("true", func(*fake.Process) int { return 0 })
		r.run(t.Context(), call("fg", execCommand, obj{"command": "true"}))
		ended, already, err := Stop(t.Context(), r.env, "fg", "vscode")
		require.NoError(t, err)
		require.True(t, already)
		require.Equal(t, Ended{How: "Exit code 0 after 0.0 s.", ByItself: true}, ended)
		require.Zero(t, r.box.Calls("Kill"))

		r.box.Fail("Wait", sandbox.Errorf(sandbox.ClassUnavailable, "wait", "away"))
		_, _, err = Stop(t.Context(), r.env, "fg", "vscode")
		require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
	})
}

func TestTheEndOfABackgroundCommandIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("build", func(p *fake.Process) int { time.Sleep(5 * time.Minute); p.Print("done"); return 3 })
		r.run(t.Context(), call("bg", execCommand, obj{"command": "build", "background": true}))
		ended, err := AwaitEnd(t.Context(), r.env, "bg")
		require.NoError(t, err)
		require.Equal(t, Ended{How: "Exit code 3 after 5m0s.", Duration: 5 * time.Minute, ByItself: true}, ended)
		_, err = AwaitEnd(t.Context(), r.env, "nobody")
		require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(err))
	})
}
