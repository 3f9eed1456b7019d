package tools

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestAPlanIsShown(t *testing.T) {
	call := Call{Name: updatePlan, Arguments: `{"plan":[{"step":"read","status":"completed"},{"step":"fix\nit","status":"in_progress"},{"step":"test","status":"pending"}]}`}
	result, err := runPlan(call)
	require.NoError(t, err)
	require.Equal(t, editors.ItemCompleted, result.Status)
	require.Equal(t, "plan 1/3: ✔ read · ▸ fix ⏎ it · ☐ test", Subject(call))
	require.Equal(t, "✔ read\n▸ fix\nit\n☐ test", PlanText(call.Arguments))
	require.True(t, ReadOnly(updatePlan))
}

func TestAPlanThatMakesNoSenseIsRefused(t *testing.T) {
	for _, arguments := range []string{`{}`, `{"plan":[]}`, `{"plan":[{"step":"","status":"pending"}]}`, `{"plan":[{"step":"a","status":"done"}]}`, `[]`} {
		_, err := runPlan(Call{Name: updatePlan, Arguments: arguments})
		require.Error(t, err, arguments)
	}
	require.Empty(t, PlanText(`{"plan":1}`))
}
