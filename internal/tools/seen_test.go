// This file checks that what somebody has changed since the model saw it is not overwritten unseen.

package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

// patching applies a patch of the file f.
func (r *rig) patching(id, hunks string) Result {
	r.t.Helper()
	return r.run(r.t.Context(), call(id, applyPatch, obj{"patch": "*** Update File: f\n" + hunks}))
}

func (r *rig) reading(id string) Result {
	r.t.Helper()
	return r.run(r.t.Context(), call(id, readFile, obj{"path": "f"}))
}

func TestAChangeOfTheUserIsKeptWhereThePatchStillFits(t *testing.T) {
	r := newRig(t, map[string]string{"f": "a\nb\nc\n"})
	r.reading("1")
	r.box.Put("f", "the user's\na\nb\nc\n", 0o644)
	result := r.patching("2", "-b\n+B\n")
	require.Equal(t, editors.ItemCompleted, result.Status)
	require.Equal(t, "the user's\na\nB\nc\n", r.box.Files()["f"])
	require.Contains(t, result.ForModel, "had been changed since you last saw it: those changes are kept")

	result = r.patching("3", "-c\n+C\n")
	require.Contains(t, result.ForModel, "had been changed", "it still has not seen them")
	r.reading("4")
	result = r.patching("5", "-C\n+c\n")
	require.Equal(t, "Done:\nUpdated f (+1 -1)\n", result.ForModel)
	result = r.patching("6", "-c\n+C\n")
	require.Equal(t, "Done:\nUpdated f (+1 -1)\n", result.ForModel, "its own changes it knows")
}

func TestAPatchOfWhatIsNoLongerThereIsRefusedWithWhatIs(t *testing.T) {
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	r := newRig(t, map[string]string{"f": lines.String()})
	r.reading("1")
	changed := strings.Replace(lines.String(), "line 300\n", "the user's\n", 1)
	r.box.Put("f", changed, 0o644)
	result := r.patching("2", " line 299\n-line 300\n+mine\n line 301\n")
	require.Equal(t, editors.ItemFailed, result.Status)
	require.Contains(t, result.Error, "f was changed since you last saw it, by the user or a command; nothing was written")
	require.Contains(t, result.ForModel, "   301\tthe user's\n")
	require.NotContains(t, result.ForModel, "line 100\n")
	require.Equal(t, changed, r.box.Files()["f"])
	result = r.patching("3", " line 299\n-the user's\n+mine\n line 301\n")
	require.Equal(t, "Done:\nUpdated f (+1 -1)\n", result.ForModel, "it can go on from what it was shown")
}

func TestAChangedFileIsPatchedWithoutTolerance(t *testing.T) {
	r := newRig(t, map[string]string{"f": "a\n  b\n"})
	r.reading("1")
	r.box.Put("f", "a\n\tb  \n", 0o644)
	result := r.patching("2", "-  b\n+  B\n")
	require.Equal(t, editors.ItemFailed, result.Status, "what the user did to the white space would be lost")
	require.Contains(t, result.ForModel, "The file is now:\n     1\ta\n     2\t\tb  \n")
	require.Equal(t, editors.ItemCompleted, r.patching("3", "-  b\n+  B\n").Status, "now it has seen that")
}

func TestAChangedFileIsNotDeletedUnseen(t *testing.T) {
	var long strings.Builder
	for i := range 100 {
		fmt.Fprintf(&long, "%d\n", i)
	}
	r := newRig(t, map[string]string{"f": "a\n"})
	r.reading("1")
	r.box.Put("f", long.String(), 0o644)
	for _, id := range []string{"2", "3"} {
		result := r.run(t.Context(), call(id, applyPatch, obj{"patch": "*** Delete File: f\n"}))
		require.Equal(t, editors.ItemFailed, result.Status)
		require.Contains(t, result.Error, "read it again before you delete it")
	}
	r.reading("4")
	require.Equal(t, editors.ItemCompleted, r.run(t.Context(), call("5", applyPatch, obj{"patch": "*** Delete File: f\n"})).Status)
	r.box.Put("f", "new\n", 0o644)
	require.Equal(t, "Done:\nUpdated f (+1 -1)\n", r.patching("6", "-new\n+newer\n").ForModel, "a file that went and came is another one")
}

func TestAMovedFileKeepsWhatIsKnownOfIt(t *testing.T) {
	r := newRig(t, map[string]string{"f": "a\n"})
	r.reading("1")
	r.box.Put("f", "a\nuser\n", 0o644)
	result := r.run(t.Context(), call("2", applyPatch, obj{"patch": "*** Update File: f\n*** Move to: g\n"}))
	require.Contains(t, result.ForModel, "Moved f to g; it had been changed")
	result = r.run(t.Context(), call("3", applyPatch, obj{"patch": "*** Delete File: g\n"}))
	require.Equal(t, editors.ItemFailed, result.Status)
	require.Equal(t, "a\nuser\n", r.box.Files()["g"])
}

func TestWhatWasSeenOutlivesTheWorkerAndIsBounded(t *testing.T) {
	r := newRig(t, map[string]string{"f": "a\n"})
	r.reading("1")
	other := *r
	other.env.Plans = DirPlans{Dir: r.env.Plans.(DirPlans).Dir}
	r.box.Put("f", "b\n", 0o644)
	require.Contains(t, other.patching("2", "-a\n+A\n").Error, "was changed since you last saw it")
	keys := map[string]bool{}
	for i := range 3 * seenSlots {
		keys[seenKey(fmt.Sprint(i))] = true
	}
	require.LessOrEqual(t, len(keys), seenSlots)
}
