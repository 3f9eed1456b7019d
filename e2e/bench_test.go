package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// BenchmarkTurn measures what a user feels in a running installation, from the start of the terminal program: to the model's
// request, to the first text, to a command's first output, to the end of the turn.
func BenchmarkTurn(b *testing.B) {
	i := newInstall(b, rules(call("run", "exec_command", `{"command":"echo out"}`, "Done.")))
	i.ok(nil, "worker", "start")
	i.ok(nil, "new", "--workspace", i.work)
	var started, output, text, end time.Duration
	b.ResetTimer()
	for range b.N {
		began := time.Now()
		s := i.start("ask", "--workspace", i.work, "--approve", "never", "run it")
		s.until("the turn", isType(editors.TurnStarted))
		started += time.Since(began)
		s.until("output", delta("stdout"))
		output += time.Since(began)
		s.until("text", delta("text"))
		text += time.Since(began)
		s.until("the end", isType(editors.TurnEnded))
		end += time.Since(began)
		require.Zero(b, s.wait())
	}
	report := func(d time.Duration, name string) { b.ReportMetric(float64(d.Milliseconds())/float64(b.N), name) }
	report(started, "ms-to-turn")
	report(output, "ms-to-output")
	report(text, "ms-to-text")
	report(end, "ms-to-end")
}

func delta(stream string) func(editors.EventMessage) bool {
	return func(e editors.EventMessage) bool {
		return e.Event.Type == editors.ItemDelta && e.Event.Stream == stream
	}
}
