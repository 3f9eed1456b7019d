// This file keeps the list of the commands that go on in the background, and learns when one ends.

package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
)

const (
	maxBackground = 64 // commands that are listed
	unwatchTime   = 10 * time.Second
)

// CommandInput names a command of a session.
type CommandInput struct {
	Sandbox
	CommandID string `json:"commandId"`
	By        string `json:"by,omitempty"` // who stops it
}

// CommandEnd is what became of a command.
type CommandEnd struct {
	How       string `json:"how"`                 // one sentence
	StoppedBy string `json:"stoppedBy,omitempty"` // the client whose user stopped it
	Already   bool   `json:"already,omitempty"`   // it had ended, or was stopped, before
	Unwatched bool   `json:"unwatched,omitempty"` // too many are waited for already: its end shows when somebody looks
}

// commandID is the id of the command of a call: the call's effect.
func (s *State) commandID(itemID string) string { return s.Session.ID + "-" + itemID }

// itemOf is the item of the call that started a command, "" for an id that is none of this session's.
func (s *State) itemOf(commandID string) string {
	item, ok := strings.CutPrefix(commandID, s.Session.ID+"-")
	if !ok {
		return ""
	}
	return item
}

func (s *State) backgroundIndex(itemID string) int {
	return slices.IndexFunc(s.Background, func(b editors.BackgroundCommand) bool { return b.ItemID == itemID })
}

// track takes over from the outcome of a call whether a command runs in the background.
func (s *session) track(ctx workflow.Context, c *Call, res RunToolResult) {
	id := s.itemOf(res.CommandID)
	switch known := s.backgroundIndex(id) >= 0; {
	case id == "", res.Running == known:
	case known:
		s.dropBackground(ctx, id)
	case id == c.ItemID:
		command := editors.BackgroundCommand{ItemID: id, TurnID: s.Turn.ID, Command: preview(c.Subject, 500), At: workflow.Now(ctx)}
		if item := s.item(id); item != nil {
			command.At = item.At
		}
		s.Background = append(slices.Clone(s.Background[max(0, len(s.Background)-maxBackground+1):]), command)
		s.tellBackground(ctx)
		s.watchCommand(ctx, id)
	}
}

func (s *session) tellBackground(ctx workflow.Context) {
	s.emit(ctx, editors.Event{Type: editors.BackgroundChanged, Background: slices.Clone(s.Background)})
}

// dropBackground takes a command off the list.
func (s *session) dropBackground(ctx workflow.Context, itemID string) {
	if i := s.backgroundIndex(itemID); i >= 0 {
		s.Background = slices.Delete(slices.Clone(s.Background), i, i+1)
		s.tellBackground(ctx)
	}
}

// leaveBackground forgets the commands of a sandbox that the session leaves, or that is about to stop, and waits until nobody
// asks that sandbox about them, which would start it again.
func (s *session) leaveBackground(ctx workflow.Context) {
	if len(s.Background) == 0 {
		return
	}
	s.Background = nil
	s.tellBackground(ctx)
	_, _ = workflow.AwaitWithTimeout(ctx, unwatchTime, func() bool { return s.watching == 0 }) // an end of ctx shows in what follows
}

// watchCommand learns, beside the main loop, when a command ends. A sandbox in a cloud is not asked: that would keep it awake,
// and cost something, for as long as the command runs.
func (s *session) watchCommand(ctx workflow.Context, itemID string) {
	if kind := s.Session.Backend.Kind; kind != editors.Local && kind != editors.Docker {
		return
	}
	root, cancel := workflow.NewDisconnectedContext(ctx) // it outlives the turn
	s.watching++
	workflow.Go(root, func(ctx workflow.Context) {
		s.aside(ctx, func(ctx workflow.Context) { s.awaitCommand(ctx, itemID) })
		s.watching--
		cancel()
	})
}

// awaitCommand waits for the end of a command, and tells it, unless somebody else has told it before.
func (s *session) awaitCommand(ctx workflow.Context, itemID string) {
	in := CommandInput{Sandbox: s.sandbox(), CommandID: s.commandID(itemID)}
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Await(ctx, func() bool { return s.backgroundIndex(itemID) < 0 })
		cancel()
	})
	opts := workflow.ActivityOptions{StartToCloseTimeout: toolTimeout, HeartbeatTimeout: toolHeartbeat}
	var end CommandEnd
	var err error
	for range maxToolAttempts {
		if err = s.besides(opts, ActivityAwaitCommand, in).Do(ctx, &end); !errors.Is(err, errLost) || ctx.Err() != nil {
			break
		}
	}
	i := s.backgroundIndex(itemID)
	if ctx.Err() != nil || i < 0 || end.Unwatched {
		return
	}
	if err != nil {
		end.How = "Nobody can tell whether it still runs: " + cause(err)
	}
	command := s.Background[i].Command
	s.dropBackground(ctx, itemID)
	s.noteBeside(fmt.Sprintf("The background command %s (%s) has ended: %s", in.CommandID, preview(command, maxName), end.How))
}

// noteBeside tells the model something while a turn may be running.
func (s *session) noteBeside(text string) {
	if s.Turn == nil {
		s.note(text)
		return
	}
	s.Turn.Steers = append(s.Turn.Steers, noteEntry(text))
}
