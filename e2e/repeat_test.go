package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestAVerbThatIsRepeatedDoesNothingTwice(t *testing.T) {
	t.Parallel()
	i := newInstall(t, rules(call("note it", "exec_command", `{"command":"echo once >> log"}`, "Noted.")))
	ask := []string{"ask", "--workspace", i.work, "--approve", "never", "--new", "--request-id", "mine", "note it"}
	var turns []int
	for range 2 {
		s := i.start(ask...)
		require.Zero(t, s.wait(), s.describe())
		require.Equal(t, []string{"Noted."}, answers(s.durable()))
		for _, e := range s.durable() {
			if e.Event.Type == editors.TurnEnded {
				turns = append(turns, e.Event.TurnID)
			}
		}
	}
	require.Equal(t, []int{1, 1}, turns, "the second shows what came of the first")
	require.Equal(t, "once\n", i.read("log"))
	var list editors.SessionsResult
	i.ok(&list, "sessions")
	require.Len(t, list.Sessions, 1)

	id := list.Sessions[0].ID
	var one, other editors.SessionResult
	i.ok(&one, "fork", "--request-id", "mine", id)
	i.ok(&other, "fork", "--request-id", "mine", id)
	require.Equal(t, one.Session.ID, other.Session.ID)
}
