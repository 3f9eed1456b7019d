// This file tests that every failure has a code, a sentence and, where something can be done, a remedy.

package core

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/temporal"
)

func TestErrorMapping(t *testing.T) {
	tried := &temporal.UnavailableError{Address: "10.0.0.9:7233", Source: "environment variable TEMPORAL_ADDRESS", Err: errors.New("refused")}
	for _, c := range []struct {
		name      string
		err       error
		code      editors.Code
		retryable bool
		says      string
	}{
		{"conflict", refused(agent.ErrTypeConflict, "The turn has ended."), editors.CodeConflict, false, "The turn has ended."},
		{"not found", refused(agent.ErrTypeNotFound, "No such item."), editors.CodeNotFound, false, "No such item."},
		{"invalid", refused(agent.ErrTypeInvalid, "Empty."), editors.CodeInvalidParams, false, "Empty."},
		{"busy", refused(agent.ErrTypeBusy, "20 wait."), editors.CodeBusy, true, "20 wait."},
		{"limit", refused(agent.ErrTypeLimit, "Too long."), editors.CodeLimit, false, "Too long."},
		{"draining", refused(agent.ErrTypeDraining, "Again."), editors.CodeBusy, true, "Again."},
		{"destroyed", refused(agent.ErrTypeDestroyed, "Gone."), editors.CodeNotFound, false, "Gone."},
		{"run ended", refused(errTypeRunEnded, "x"), editors.CodeBusy, true, "x"},
		{"unknown type", refused("strange", "Strange."), editors.CodeInternal, false, "Strange."},
		{"wrapped", fmt.Errorf("failed workflow update: %w", refused(agent.ErrTypeBusy, "20 wait.")), editors.CodeBusy, true, "20 wait."},
		{"too large", &temporal.PayloadTooLargeError{Operation: "update ask", Size: 70_000, Limit: 65_536}, editors.CodeLimit, false, "70000"},
		{"no workflow", serviceerror.NewNotFound("workflow not found"), editors.CodeNotFound, false, "no such session"},
		{"no namespace", serviceerror.NewNamespaceNotFound("team"), editors.CodeTemporalUnavailable, false, "team"},
		{"credentials", serviceerror.NewPermissionDenied("no", ""), editors.CodeTemporalUnavailable, false, "credentials"},
		{"exhausted", &serviceerror.ResourceExhausted{Message: "slow down"}, editors.CodeBusy, true, "busy"},
		{"stuck", serviceerror.NewWorkflowNotReady("failed state"), editors.CodeWorkerUnavailable, true, "cannot carry"},
		{"query", serviceerror.NewQueryFailed("unknown queryType"), editors.CodeInternal, false, "unknown queryType"},
		{"unavailable", serviceerror.NewUnavailable("refused"), editors.CodeTemporalUnavailable, true, "no Temporal server answers"},
		{"deadline", context.DeadlineExceeded, editors.CodeTemporalUnavailable, true, "no Temporal server answers"},
		{"address", tried, editors.CodeTemporalUnavailable, true, "10.0.0.9:7233 (environment variable TEMPORAL_ADDRESS)"},
		{"cancelled", context.Canceled, editors.CodeCancelled, false, "cancelled"},
		{"no blob", fmt.Errorf("x: %w", blob.ErrNotFound), editors.CodeNotFound, false, "store of this host"},
		{"bad blob", fmt.Errorf("x: %w", blob.ErrCorrupt), editors.CodeCorruptCheckpoint, false, "damaged"},
		{"own", editors.Errorf(editors.CodeDenied, "Denied."), editors.CodeDenied, false, "Denied."},
		{"other", errors.New("boom"), editors.CodeInternal, false, "boom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := asError("asking the agent", c.err)
			require.Equal(t, c.code, e.Code, e.Message)
			require.Equal(t, c.retryable, e.Retryable)
			require.Contains(t, e.Message, c.says)
		})
	}
}

func TestWhatIsSilenceAndWhatComesAgain(t *testing.T) {
	timeout := client.NewWorkflowUpdateServiceTimeoutOrCanceledError(context.DeadlineExceeded)
	require.True(t, isSilence(timeout))
	require.True(t, isSilence(serviceerror.NewUnavailable("x")))
	require.True(t, isSilence(serviceerror.NewFailedPrecondition("no poller seen for task queue recently, worker may be down")))
	require.False(t, isSilence(serviceerror.NewFailedPrecondition("x")))
	require.True(t, isSilence(serviceerror.NewCanceled("the client connection is closing")))
	require.False(t, isSilence(refused(agent.ErrTypeBusy, "x")))
	require.True(t, comesAgain(refused(agent.ErrTypeDraining, "x")))
	require.True(t, comesAgain(refused(errTypeRunEnded, "x")))
	require.False(t, comesAgain(refused(agent.ErrTypeBusy, "x")))
	require.False(t, comesAgain(timeout))
}
