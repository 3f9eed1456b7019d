// This file checks that commands run once, that their output is told truly, and what becomes of them when things go wrong.

package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/sandbox/fake"
)

func TestExec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("make", func(p *fake.Process) int {
			require.False(t, p.Command.Stdin)
			require.Equal(t, "web", p.Command.Dir)
			p.Print("one\n")
			time.Sleep(1500 * time.Millisecond)
			p.Print("two\n")
			p.PrintError("warning")
			return 0
		})
		result := r.run(t.Context(), call("e1", execCommand, obj{"command": "make", "workdir": "/fake/workspace/web"}))
		require.Equal(t, editors.ItemCompleted, result.Status)
		require.Zero(t, *result.ExitCode)
		require.Equal(t, "Exit code 0 after 1.5 s.\nStandard output:\none\ntwo\nStandard error:\nwarning\n", result.ForModel)
		require.Equal(t, &editors.Output{Head: "one\ntwo\n", TotalBytes: 8, Stream: "stdout"}, result.Output)
		require.Equal(t, "warning", r.blob(result, "stderr"), "what the preview does not show is kept")
		require.NotContains(t, result.Refs, "stdout")
		require.Equal(t, map[string]string{"stdout": "one\ntwo\n", "stderr": "warning"}, r.live)
		require.Equal(t, "web", result.Cwd)
		require.Equal(t, "e1", result.CommandID)
		require.Equal(t, 1500*time.Millisecond, result.Duration)
	})
}

func TestExecEnds(t *testing.T) {
	cases := []struct {
		name   string
		run    fake.Program
		status editors.ItemStatus
		code   int
		want   string
		err    string
	}{
		{"silent", func(*fake.Process) int { return 0 }, editors.ItemCompleted, 0, "Exit code 0 after 0.0 s.\nNo output.\n", ""},
		{"failing", func(p *fake.Process) int { p.PrintError("no\n"); return 3 }, editors.ItemCompleted, 3, "Exit code 3 after 0.0 s.\nStandard error:\nno\n", ""},
		{"hanging", func(p *fake.Process) int { p.Print("a"); <-p.Context().Done(); return 0 }, editors.ItemFailed, 137, "Timed out after 1m0s: it and all it started were killed. Give a longer timeout_ms, or none.\nOutput:\na\n", "timed out after 1m0s"},
		{"missing", nil, editors.ItemFailed, 127, "The command could not be run: no such program: x\nNo output.\n", "no such program: x"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				if c.run != nil {
					r.box.Program("x", c.run)
				}
				result := r.run(t.Context(), call("e", execCommand, obj{"command": "x", "timeout_ms": 60_000}))
				require.Equal(t, c.status, result.Status)
				require.Equal(t, c.code, *result.ExitCode)
				require.Equal(t, c.want, result.ForModel)
				require.Equal(t, c.err, result.Error)
			})
		})
	}
}

func TestExecRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		runs := 0
		r.box.Program("date >> log", func(p *fake.Process) int { runs++; p.Print("x"); time.Sleep(time.Second); return 0 })
		c := call("e", execCommand, obj{"command": "date >> log"})

		r.box.LoseReply("Start", sandbox.Errorf(sandbox.ClassUnknown, "start", "the reply was lost"))
		_, err := Run(t.Context(), r.env, c)
		require.Equal(t, sandbox.ClassUnknown, sandbox.ClassOf(err))
		r.box.Fail("Wait", nil, sandbox.Errorf(sandbox.ClassUnavailable, "wait", "the helper is away"))
		_, err = Run(t.Context(), r.env, c)
		require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))

		r.live = map[string]string{}
		first := r.run(t.Context(), c)
		require.Equal(t, editors.ItemCompleted, first.Status)
		require.Equal(t, "x", r.live["stdout"], "output comes again from its beginning")
		require.Equal(t, first, r.run(t.Context(), c), "and again after the end")
		require.Equal(t, 1, runs)
	})
}

func TestExecInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		r.box.Program("sleep", func(p *fake.Process) int { p.Print("partial"); <-p.Context().Done(); return 0 })
		time.AfterFunc(3*time.Second, cancel)
		result := r.run(ctx, call("e", execCommand, obj{"command": "sleep"}))
		require.Equal(t, editors.ItemInterrupted, result.Status)
		require.Equal(t, "Killed after 3.0 s with all it started.\nOutput:\npartial\n", result.ForModel)
		require.Equal(t, "partial", result.Output.Head)
		require.Equal(t, 1, r.box.Calls("Kill"))

		result = r.run(ctx, call("e2", execCommand, obj{"command": "sleep"}))
		require.Equal(t, editors.ItemInterrupted, result.Status)
		require.Contains(t, result.ForModel, "did not run")
	})
}

func TestExecInterruptedWithTrouble(t *testing.T) {
	unavailable := sandbox.Errorf(sandbox.ClassUnavailable, "x", "the helper is away")
	cases := []struct {
		name   string
		brk    func(*fake.Sandbox)
		status editors.ItemStatus
		want   string
	}{
		{"kill fails", func(s *fake.Sandbox) { s.Fail("Kill", unavailable) }, editors.ItemUnknown, "could not be killed"},
		{"wait fails", func(s *fake.Sandbox) { s.Fail("Wait", unavailable) }, editors.ItemUnknown, "does not answer"},
		{"output fails", func(s *fake.Sandbox) { s.Fail("Output", nil, unavailable, unavailable) }, editors.ItemInterrupted, "could not be read"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				r.env.OnOutput = nil
				ctx, cancel := context.WithCancel(t.Context())
				r.box.Program("sleep", func(p *fake.Process) int {
					p.Print(strings.Repeat("partial", 10_000))
					<-p.Context().Done()
					return 0
				})
				time.AfterFunc(time.Second, func() { c.brk(r.box); cancel() })
				result := r.run(ctx, call("e", execCommand, obj{"command": "sleep"}))
				r.box.Lose("e") // whatever still runs
				require.Equal(t, c.status, result.Status, result.ForModel)
				require.Contains(t, result.ForModel+result.Error, c.want)
			})
		})
	}
}

func TestExecDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		r.box.Program("slow", func(p *fake.Process) int { time.Sleep(time.Minute); p.Print("done"); return 0 })
		time.AfterFunc(time.Second, func() { cancel(ErrDetach) })
		c := call("e", execCommand, obj{"command": "slow"})
		_, err := Run(ctx, r.env, c)
		require.ErrorIs(t, err, ErrDetach)
		require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err))
		require.Zero(t, r.box.Calls("Kill"))
		require.Equal(t, "done", r.run(t.Context(), c).Output.Head)
	})
}

func TestExecLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("x", func(p *fake.Process) int { p.Print("so far"); <-p.Context().Done(); return 0 })
		time.AfterFunc(time.Second, func() { r.box.Lose("e") })
		result := r.run(t.Context(), call("e", execCommand, obj{"command": "x"}))
		require.Equal(t, editors.ItemUnknown, result.Status)
		require.Nil(t, result.ExitCode)
		require.Contains(t, result.ForModel, "it was not run again")
		require.Contains(t, result.ForModel, "so far")
		require.Contains(t, result.Error, "unknown")
	})
}

func TestExecMuchOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		var all strings.Builder
		for i := range 500_000 {
			fmt.Fprintf(&all, "line %d é\n", i)
		}
		r.box.Program("yes", func(p *fake.Process) int {
			p.Print(all.String())
			p.PrintError(strings.Repeat("e\xff", 10_000))
			return 1
		})
		result := r.run(t.Context(), call("e", execCommand, obj{"command": "yes"}))
		require.Equal(t, "stderr", result.Output.Stream, "of a failure, errors say more")
		require.EqualValues(t, 20_000, result.Output.TotalBytes)
		require.Equal(t, all.String(), r.blob(result, "stdout"))
		require.Equal(t, strings.Repeat("e\xff", 10_000), r.blob(result, "stderr"), "kept byte for byte")
		for _, want := range []string{"Exit code 1", "line 0 é\n", "line 499999 é\n", "bytes left out", "Standard error:\ne\uFFFDe", "To see more"} {
			require.Contains(t, result.ForModel, want)
		}
		require.Less(t, len(r.live["stdout"]), 2<<20, "live output does not lag behind for ever")
		require.Contains(t, r.live["stdout"], "bytes left out")
		require.True(t, strings.HasSuffix(r.live["stdout"], "line 499999 é\n"))
	})
}

func TestExecDroppedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("x", func(p *fake.Process) int {
			p.Print(strings.Repeat("a", 50_000))
			r.box.Drop("e", sandbox.Stdout, 40_000)
			return 0
		})
		result := r.run(t.Context(), call("e", execCommand, obj{"command": "x"}))
		require.EqualValues(t, 50_000, result.Output.TotalBytes)
		require.Equal(t, "\n[… 40,000 bytes left out …]\n"+strings.Repeat("a", 10_000), r.blob(result, "stdout"))
	})
}

func TestLiveOutputKeepsCharactersWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		var pieces []string
		r.env.OnOutput = func(_ string, data []byte) { pieces = append(pieces, string(data)) }
		r.box.Program("x", func(p *fake.Process) int {
			for _, b := range []byte("a€é") {
				p.Print(string([]byte{b}))
				time.Sleep(time.Second)
			}
			p.Print("\xe2")
			return 0
		})
		r.run(t.Context(), call("e", execCommand, obj{"command": "x"}))
		require.Equal(t, []string{"a", "€", "é", "\xe2"}, pieces)
	})
}

func TestTTY(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("x", func(p *fake.Process) int { require.True(t, p.Command.TTY); p.Print("\x1b[31mred\x1b[0m\r\n"); return 0 })
		result := r.run(t.Context(), call("e", execCommand, obj{"command": "x", "tty": true}))
		require.Contains(t, result.ForModel, "Output:\nred\n")
		require.Equal(t, "\x1b[31mred\x1b[0m\r\n", result.Output.Head, "people see colours")
	})
}

func TestOutputThatCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.env.Blobs = fullStore{r.env.Blobs}
		r.box.Program("x", func(p *fake.Process) int { p.Print(strings.Repeat("a", 50_000)); return 0 })
		result := r.run(t.Context(), call("e", execCommand, obj{"command": "x"}))
		require.Equal(t, editors.ItemCompleted, result.Status)
		require.Contains(t, result.Error, "the whole stdout could not be kept: disk full")
	})
}

// echo answers every line of its input until the input ends.
func echo(p *fake.Process) int {
	p.Print("ready\n")
	lines := bufio.NewScanner(p.Stdin)
	for lines.Scan() {
		p.Print("got " + lines.Text() + "\n")
	}
	p.Print("bye\n")
	return 0
}

func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("serve", echo)
		start := call("bg", execCommand, obj{"command": "serve", "background": true})
		result := r.run(t.Context(), start)
		require.Equal(t, editors.ItemCompleted, result.Status)
		require.Nil(t, result.ExitCode)
		require.Equal(t, "bg", result.CommandID)
		require.Equal(t, "Still running after 1.0 s as command bg; look at it, write to it or kill it with write_stdin.\nOutput:\nready\n", result.ForModel)

		first := call("e1", writeStdin, obj{"command_id": "bg", "input": "hello\n"})
		result = r.run(t.Context(), first)
		require.Contains(t, result.ForModel, "Output:\ngot hello\n", "only what is new")
		require.NotContains(t, result.ForModel, "ready")
		require.Contains(t, r.run(t.Context(), first).ForModel, "Output:\ngot hello\n", "a repeated call tells the same and writes nothing")

		result = r.run(t.Context(), call("e2", writeStdin, obj{"command_id": "bg"}))
		require.Contains(t, result.ForModel, "No output.")
		result = r.run(t.Context(), call("e3", writeStdin, obj{"command_id": "bg", "eof": true}))
		require.Contains(t, result.ForModel, "Exit code 0")
		require.Contains(t, result.ForModel, "Output:\nbye\n")
		require.Zero(t, *result.ExitCode)
		require.Equal(t, 2, r.box.Calls("Input"))

		result = r.run(t.Context(), call("e4", writeStdin, obj{"command_id": "bg", "input": "late\n"}))
		require.Contains(t, result.ForModel, "The input was not written: the command had ended.")
		result = r.run(t.Context(), call("e5", writeStdin, obj{"command_id": "nobody"}))
		require.Contains(t, result.Error, `there is no command "nobody"`)
	})
}

func TestBackgroundKilledAndInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("serve", echo)
		r.run(t.Context(), call("bg", execCommand, obj{"command": "serve", "background": true, "yield_ms": 10}))

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		result := r.run(ctx, call("e1", writeStdin, obj{"command_id": "bg", "yield_ms": 1 << 60}))
		require.Equal(t, editors.ItemInterrupted, result.Status)
		require.Contains(t, result.ForModel, "Still running")
		require.Zero(t, r.box.Calls("Kill"), "looking at it was interrupted, not the command")

		result = r.run(t.Context(), call("e2", writeStdin, obj{"command_id": "bg", "kill": true}))
		require.Equal(t, editors.ItemCompleted, result.Status)
		require.Contains(t, result.ForModel, "Killed after")
	})
}

func TestInputIsWrittenAtMostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("serve", echo)
		r.run(t.Context(), call("bg", execCommand, obj{"command": "serve", "background": true}))
		c := call("e", writeStdin, obj{"command_id": "bg", "input": "pay\n"})

		r.box.Fail("Input", sandbox.Errorf(sandbox.ClassUnavailable, "input", "away"))
		_, err := Run(t.Context(), r.env, c)
		require.Equal(t, sandbox.ClassUnavailable, sandbox.ClassOf(err), "nothing was written: it may be tried again")
		r.box.LoseReply("Input", sandbox.Errorf(sandbox.ClassUnknown, "input", "lost"))
		_, err = Run(t.Context(), r.env, c)
		require.Equal(t, sandbox.ClassUnknown, sandbox.ClassOf(err))

		result := r.run(t.Context(), c)
		require.Contains(t, result.ForModel, "It is unknown whether the input arrived")
		require.Equal(t, 1, strings.Count(result.ForModel, "got pay"))
		r.run(t.Context(), call("k", writeStdin, obj{"command_id": "bg", "kill": true}))
	})
}

func TestInputToACommandWithoutInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("x", func(p *fake.Process) int { <-p.Context().Done(); return 0 })
		require.NoError(t, r.box.Start(t.Context(), "fg", sandbox.Command{Script: "x"}))
		result := r.run(t.Context(), call("e", writeStdin, obj{"command_id": "fg", "input": "y"}))
		require.Contains(t, result.Error, "takes no input")
		require.Contains(t, result.Error, "background", "it says how to start one that does")
		result = r.run(t.Context(), call("e2", writeStdin, obj{"command_id": "fg", "rows": 30, "cols": 100}))
		require.Contains(t, result.Error, "no terminal")
		require.Equal(t, editors.ItemCompleted, r.run(t.Context(), call("e3", writeStdin, obj{"command_id": "fg"})).Status, "looking still works")
		require.NoError(t, r.box.Kill(t.Context(), "fg"))
	})
}

func TestTimeoutsAreBounded(t *testing.T) {
	r := newRig(t, nil)
	for _, c := range []struct {
		args execArgs
		want time.Duration
	}{
		{execArgs{Command: "x"}, 2 * time.Hour},
		{execArgs{Command: "x", TimeoutMs: 5}, 5 * time.Millisecond},
		{execArgs{Command: "x", TimeoutMs: 1 << 62}, 2 * time.Hour},
		{execArgs{Command: "x", Background: true}, 2 * time.Hour},
	} {
		cmd, err := c.args.command(r.env)
		require.NoError(t, err)
		require.Equal(t, c.want, cmd.Timeout)
	}
	for ms, want := range map[int64]time.Duration{
		-1: time.Second, 0: time.Second, 1: minYield, 249: minYield, 251: 251 * time.Millisecond, 600_000: maxYield, 600_001: maxYield, 1 << 62: maxYield,
	} {
		require.Equal(t, want, yield(ms, time.Second, minYield), ms)
	}
}

func TestLooksAreNotShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("serve", echo)
		began := time.Now()
		r.run(t.Context(), call("bg", execCommand, obj{"command": "serve", "background": true, "yield_ms": 1}))
		require.Equal(t, minYield, time.Since(began))
		began = time.Now()
		r.run(t.Context(), call("e1", writeStdin, obj{"command_id": "bg", "yield_ms": 1}))
		require.Equal(t, minPoll, time.Since(began), "a mere look")
		began = time.Now()
		r.run(t.Context(), call("e2", writeStdin, obj{"command_id": "bg", "input": "x\n", "yield_ms": 1}))
		require.Equal(t, minYield, time.Since(began))
		r.run(t.Context(), call("k", writeStdin, obj{"command_id": "bg", "kill": true}))
	})
}

func TestTerminalInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.box.Program("top", func(p *fake.Process) int {
			line, err := bufio.NewReader(p.Stdin).ReadString('\n')
			rows, cols := p.Size()
			p.Print(fmt.Sprintf("\x1b[1m%s\x1b[0m %d by %d %v\r\n", strings.TrimSpace(line), rows, cols, err))
			return 0
		})
		r.run(t.Context(), call("bg", execCommand, obj{"command": "top", "background": true, "tty": true}))
		half := r.run(t.Context(), call("e1", writeStdin, obj{"command_id": "bg", "rows": 40}))
		require.Contains(t, half.Error, "at least one row and one column")
		result := r.run(t.Context(), call("e2", writeStdin, obj{"command_id": "bg", "rows": 40, "cols": 120, "input": "size\n"}))
		require.Contains(t, result.ForModel, "Output:\nsize 40 by 120 <nil>\n", "the model gets no control sequences")
		late := r.run(t.Context(), call("e3", writeStdin, obj{"command_id": "bg", "rows": 4, "cols": 12}))
		require.Equal(t, editors.ItemCompleted, late.Status, "it has ended: there is nothing to resize")
	})
}

var errDiskFull = errors.New("disk full")
