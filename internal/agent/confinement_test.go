// This file tests that a session learns what keeps its commands, says when nothing does, and asks for the network.

package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestUnconfinedIsSaidOnce(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		res := says("ok")
		res.Confinement = "none"
		return res, nil
	}
	h.at(0, func() { h.ask("r1", "one") })
	h.at(time.Minute, func() { h.ask("r2", "two") })
	notices := 0
	for _, e := range ofType(h.finish(time.Hour, testSession(editors.ApprovalAuto)), editors.ItemEnded) {
		if e.Item.Kind == editors.Notice {
			notices++
			require.Contains(t, e.Item.Text, "not confined")
		}
	}
	require.Equal(t, 1, notices)
}

func TestConfinedCommandsAskForTheNetworkOnly(t *testing.T) {
	h := newHarness(t)
	h.model = func(ModelStepInput) (ModelStepResult, error) {
		if len(h.steps) > 1 {
			return says("ok"), nil
		}
		res := calls(run("c1", "make"), CallRequest{CallID: "c2", Tool: "exec_command", Arguments: `{"command":"curl x","network":true}`, Subject: "(with network) curl x"})
		res.Confinement = "fs+net"
		return res, nil
	}
	h.at(0, func() { h.ask("r1", "build") })
	h.at(time.Minute, func() {
		require.Len(t, h.tools, 1, "what needs no network runs")
		v := h.view(nil)
		require.Len(t, v.Approvals, 1)
		require.Contains(t, v.Approvals[0].Reason, "network")
		require.Equal(t, "(with network) curl x", v.Approvals[0].Pattern)
		h.update(UpdateAnswer, editors.AnswerApprovalParams{ApprovalID: "a1", Decision: editors.DecisionAllow, By: "me"})
	})
	h.finish(time.Hour, testSession(editors.ApprovalAuto))
	require.Len(t, h.tools, 2)
}
