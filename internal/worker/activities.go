// Package worker is the engine's process: it runs the workflows, makes the model calls and tool calls they ask for, and
// feeds the editors on its host.
package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/buffers"
	"sandboxagent/internal/checkpoint"
	"sandboxagent/internal/config"
	"sandboxagent/internal/feed"
	"sandboxagent/internal/instructions"
	"sandboxagent/internal/mcp"
	"sandboxagent/internal/model"
	"sandboxagent/internal/policy/store"
	"sandboxagent/internal/sandbox"
	"sandboxagent/internal/tools"
	"sandboxagent/internal/workspace"
)

const beatEvery = time.Second

// Live is where activities put what editors see at once and nobody keeps; feed.Hub is one.
type Live interface {
	Publish(feed.Frame)
	Forget(session, item string)
}

// Models gives out models; model.Registry is one.
type Models interface {
	Get(id string) (model.Model, error)
	Facts(id string) model.Facts
	Cheap(id string) string // the model for small jobs beside one
}

// Folders tell which folders of a host the sessions of an owner have, but the one named.
type Folders interface {
	Folders(ctx context.Context, owner, hostID, but string) ([]string, error)
}

// Activities are what the workflows ask of the world. Set all fields before registering them.
type Activities struct {
	Client    client.Client
	Converter converter.DataConverter // of Client
	Blobs     blob.Store
	Live      Live
	Models    Models
	KeysBy    time.Time // until when editors may still bring the keys that they gave to the worker before this one
	Backends  map[editors.BackendKind]sandbox.Backend
	HeldFiles HeldFiles // what editors of this host show with unsaved changes
	PlanDir   string    // one directory for each session's plans
	HostID    string
	Realm     string          // where the sessions are known: the id of their namespace; "" when it could not be asked
	Forks     workspace.Forks // where local forks have their folders
	Others    Folders         // of other sessions; nil: nobody can tell
	Policies  store.Store     // what the user and workspaces say about calls
	Servers   *mcp.Pool       // whose tools models may call; nil: there are none

	// Checkpoints opens the store of this host when it is first needed; nil: there is none.
	Checkpoints    func() (*checkpoint.Store, error)
	CheckpointWith config.Checkpoint // what checkpoints may hold
	CarryWith      config.Carry      // what of them goes elsewhere
	// Fault is called before every step of a carry with its name; an error makes the step fail. For tests; may be nil.
	Fault func(step string) error

	// SearchAttributes tells whether the cluster knows ours.
	SearchAttributes bool

	running    registry           // commands that run, for who wants to read their output before they end
	busy       atomic.Int64       // activities under way
	watched    atomic.Int64       // commands whose end is waited for
	held       holds              // sandboxes that are being made, filled or removed
	opened     readiness          // sandboxes that there are
	instructed instructions.Cache // what their workspaces say to agents
	buffers    buffers.Desk       // where servers take changes of documents that editors show unsaved
}

// working counts an activity as under way until the returned function is called.
func (a *Activities) working() (done func()) {
	a.busy.Add(1)
	return func() { a.busy.Add(-1) }
}

// beat heartbeats until the returned function is called. The details let an editor without a feed follow.
func beat(ctx context.Context, details func() any) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			activity.RecordHeartbeat(ctx, details())
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// untilStop derives a context that also ends, with the cause given, when the worker begins to stop.
func untilStop(ctx context.Context, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stopping := activity.GetWorkerStopChannel(ctx)
	go func() {
		select {
		case <-stopping:
			cancel(cause)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stopping tells whether this process is going down, so that an activity's end says nothing about what it did.
func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

// workerStopped is the error that lets the workflow run the activity again under the same ids.
func workerStopped() error {
	return temporal.NewNonRetryableApplicationError("the worker stopped", agent.ErrTypeWorkerStopped, nil)
}

// inline puts a text into a reference when it is long, keeping its beginning.
func (a *Activities) inline(ctx context.Context, text string) (agent.Text, error) {
	if len(text) <= agent.MaxInlineText {
		return agent.Text{Inline: text, Bytes: int64(len(text))}, nil
	}
	ref, err := blob.PutAll(ctx, a.Blobs, []byte(text))
	if err != nil {
		return agent.Text{}, fmt.Errorf("store a text: %w", err)
	}
	return agent.Text{Inline: tools.Head(text, agent.MaxInlineText), Ref: string(ref), Bytes: int64(len(text))}, nil
}

// Ping shows that this host's worker takes work.
func (a *Activities) Ping(context.Context) error { return nil }

// SealItems stores a segment of older items.
func (a *Activities) SealItems(ctx context.Context, in agent.SealInput) (string, error) {
	ref, err := blob.PutJSON(ctx, a.Blobs, in.Segment)
	if err != nil {
		return "", fmt.Errorf("seal items: %w", err)
	}
	return string(ref), nil
}

// plans are where a session's tools remember what they are about to do. Session ids are safe as file names: the session
// manager takes no other.
func (a *Activities) plans(sessionID string) tools.DirPlans {
	return tools.DirPlans{Dir: filepath.Join(a.PlanDir, sessionID)}
}

func refOf(in agent.Sandbox) sandbox.Ref {
	return sandbox.Ref{Kind: sandbox.Kind(in.Backend.Kind), ID: in.ID(), HostID: in.HostID, Epoch: in.Epoch, Workspace: folderOf(in)}
}

// folderOf is where a local sandbox works, and what the others began as a copy of.
func folderOf(in agent.Sandbox) string {
	if in.Backend.WorkspaceRoot != "" {
		return in.Backend.WorkspaceRoot
	}
	return in.Folder
}

func (a *Activities) backend(in agent.Sandbox) (sandbox.Backend, error) {
	b := a.Backends[in.Backend.Kind]
	if b == nil {
		return nil, sandbox.Errorf(sandbox.ClassUnsupported, "open sandbox", "This worker has no backend %q.", in.Backend.Kind)
	}
	return b, nil
}

// confinement says what keeps a session's commands; see sandbox.Capabilities.
func (a *Activities) confinement(in agent.Sandbox) string {
	b, err := a.backend(in)
	if err != nil {
		return ""
	}
	return b.Capabilities().Confinement
}

func (a *Activities) open(ctx context.Context, in agent.Sandbox, notify func(string)) (sandbox.Sandbox, error) {
	b, err := a.backend(in)
	if err != nil {
		return nil, err
	}
	if a.forkGone(in) {
		return nil, sandbox.Errorf(sandbox.ClassNotFound, "open sandbox", "the folder of this fork is gone, %s: ask again, and it is made anew from its last checkpoint", folderOf(in))
	}
	a.heal(ctx, in)
	sb, err := b.Open(ctx, a.spec(in, notify))
	a.opened.note(in.ID(), err == nil)
	return sb, err
}

func (a *Activities) spec(in agent.Sandbox, notify func(string)) sandbox.Spec {
	return sandbox.Spec{ID: in.ID(), Owner: in.Owner, Workspace: folderOf(in), Image: in.Backend.Image, Realm: a.Realm, Notify: notify}
}
