// These cases are about what commands see, what they print and how they end.

package sandboxtest

import (
	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// ending is how a command must end.
type ending struct {
	name    string
	real    bool
	cmd     sandbox.Command
	code    int
	signal  string
	out     string
	err     string
	failure string
}

var endings = []ending{
	{name: "streams apart", cmd: sandbox.Command{Script: "echo out; echo err >&2; exit 3"}, code: 3, out: "out\n", err: "err\n"},
	{name: "empty", cmd: sandbox.Command{Script: ""}},
}

var execCases = append([]testCase{}, endingCases()...)

func endingCases() (all []testCase) {
	for _, c := range endings {
		all = append(all, testCase{name: c.name, real: c.real, run: c.check})
	}
	return all
}

func (c ending) check(e *env) {
	r := e.run(c.cmd)
	require.Equal(e, sandbox.StateExited, r.State)
	require.Equal(e, c.code, r.ExitCode, r.err)
	require.Equal(e, c.signal, r.Signal)
	require.Equal(e, c.out, r.out)
	require.Equal(e, c.err, r.err)
	require.Equal(e, c.failure == "", r.Failure == "", r.Failure)
	require.Contains(e, r.Failure, c.failure)
	require.Equal(e, sandbox.Offsets{Stdout: int64(len(c.out)), Stderr: int64(len(c.err))}, r.Total)
	require.Zero(e, r.Left)
	require.False(e, r.Killed || r.TimedOut)
	require.False(e, r.Started.IsZero() || r.Ended.Before(r.Started))
}
