// This file takes the signals to a session, and those left when a run ends.

package agent

import "go.temporal.io/sdk/workflow"

func (s *session) listenForRenames(ctx workflow.Context) {
	listen(ctx, SignalRename, s.rename)
}

func (s *session) listenForAdoptions(ctx workflow.Context) {
	listen(ctx, SignalAdopted, s.adopted)
}

func listen[T any](ctx workflow.Context, name string, take func(workflow.Context, T)) {
	ch := workflow.GetSignalChannel(ctx, name)
	for {
		var in T
		if more := ch.Receive(ctx, &in); !more {
			return
		}
		take(ctx, in)
	}
}

// drainSignals takes what has come and was not yet taken.
func (s *session) drainSignals(ctx workflow.Context) {
	drain(ctx, SignalRename, s.rename)
	drain(ctx, SignalAdopted, s.adopted)
}

func drain[T any](ctx workflow.Context, name string, take func(workflow.Context, T)) {
	ch := workflow.GetSignalChannel(ctx, name)
	for {
		var in T
		if !ch.ReceiveAsync(&in) {
			return
		}
		take(ctx, in)
	}
}
