// This file offers models the tools of the user's MCP servers, and calls them, each call once.

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/images"
	"sandboxagent/internal/mcp"
	"sandboxagent/internal/model"
	"sandboxagent/internal/tools"
)

// graceTime is how long a call may go on when the worker stops; it must be over before drainTime is.
const graceTime = 6 * time.Second

// offer asks the servers for what a session's model may be told of.
func (a *Activities) offer(ctx context.Context, session string) mcp.Offer {
	if a.Servers == nil {
		return mcp.Offer{}
	}
	return a.Servers.Offer(ctx, session)
}

// definitions are the tools of a request.
func definitions(offer mcp.Offer) []model.Tool {
	all := tools.Definitions()
	for _, t := range offer.Tools {
		all = append(all, t.Definition())
	}
	return all
}

// recordOffer says in the result of a model call what the model was told of, and whose tools it calls.
func (a *Activities) recordOffer(ctx context.Context, offer mcp.Offer, out *agent.ModelStepResult) error {
	out.Notices = offer.Notices
	if len(offer.Tools) == 0 {
		return nil
	}
	ref, err := blob.PutJSON(ctx, a.Blobs, offer.Tools)
	if err != nil {
		return fmt.Errorf("store which tools there were: %w", err)
	}
	out.External = string(ref)
	for i := range out.Calls {
		c := &out.Calls[i]
		k := slices.IndexFunc(offer.Tools, func(t mcp.Tool) bool { return t.Name == c.Tool })
		if k < 0 {
			continue
		}
		t := offer.Tools[k]
		c.External = &agent.ExternalTool{Server: t.Server, Tool: t.Original, ReadOnly: t.ReadOnly, Destructive: t.Destructive}
	}
	return nil
}

// made is what is remembered of a call to a server: that it was begun, and then what came of it. A server cannot be asked
// later, so a call that was begun and of which nothing else is known is never made again.
type made struct {
	Result *tools.Result `json:"result,omitempty"`
}

func madeKey(effect string) string { return "mcp/" + effect }

// callServer makes a call under its effect id. A repeated id gets what is remembered of the first one.
func (a *Activities) callServer(ctx context.Context, in agent.RunToolInput, call tools.Call, live *liveOutput) (agent.RunToolResult, error) {
	before, begun, err := a.madeBefore(ctx, in)
	switch {
	case err != nil:
		return agent.RunToolResult{}, err
	case before.Result != nil:
		return a.outcome(ctx, *before.Result)
	case begun:
		return a.outcome(ctx, unknown("The worker that made it ended before it had an answer."))
	case in.Stop:
		return a.outcome(ctx, tools.Result{Status: editors.ItemInterrupted, ForModel: "The user interrupted the turn before this call ran."})
	case a.Servers == nil:
		return a.outcome(ctx, failedCall("This worker has no MCP servers."))
	}
	arguments, ok := objectOf(call.Arguments)
	if !ok {
		return a.outcome(ctx, failedCall("The arguments are no JSON object."))
	}
	started := time.Now()
	cctx, cancel := withGrace(ctx)
	defer cancel()
	answer, err := a.Servers.Call(cctx, mcp.Call{
		ID: in.EffectID, Session: in.SessionID, Server: in.Call.External.Server, Tool: in.Call.External.Tool, Arguments: arguments,
		Begin:    func() error { return a.remember(ctx, in, made{}) },
		Progress: live.note,
	})
	var why *mcp.Error
	var res tools.Result
	switch {
	case err == nil:
		res = a.answered(ctx, answer)
	case !errors.As(err, &why):
		return agent.RunToolResult{}, err
	case !why.Sent && stopping(ctx):
		return agent.RunToolResult{}, workerStopped()
	case !why.Sent && ctx.Err() != nil:
		return agent.RunToolResult{}, temporal.NewCanceledError()
	case !why.Sent:
		res = failedCall(why.Message)
	case ctx.Err() != nil && !stopping(ctx):
		res = unknown("The user interrupted the turn, and the server was told to stop.")
		res.Status = editors.ItemInterrupted
	case cctx.Err() != nil:
		res = unknown("The worker was stopped before it had an answer.")
	default:
		res = unknown(why.Message)
	}
	res.Duration = time.Since(started)
	keep, stop := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer stop()
	if err := a.remember(keep, in, made{&res}); err != nil {
		activity.GetLogger(ctx).Warn("the outcome of a call is not remembered", "error", err) // it is told now, and if not, unknown
	}
	return a.outcome(ctx, res)
}

func (a *Activities) madeBefore(ctx context.Context, in agent.RunToolInput) (m made, begun bool, err error) {
	data, begun, err := a.plans(in.SessionID).Load(ctx, madeKey(in.EffectID))
	if err == nil && begun {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, begun, fmt.Errorf("look up whether the call was made: %w", err)
	}
	return m, begun, nil
}

func (a *Activities) remember(ctx context.Context, in agent.RunToolInput, m made) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return a.plans(in.SessionID).Save(ctx, madeKey(in.EffectID), data)
}

// withGrace derives a context that ends some time after the worker begins to stop: a server that is asked cannot be handed over.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stopped := activity.GetWorkerStopChannel(ctx)
	go func() {
		select {
		case <-stopped:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(graceTime):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// objectOf checks that arguments are an object; none are an empty one.
func objectOf(arguments string) ([]byte, bool) {
	if strings.TrimSpace(arguments) == "" {
		return []byte("{}"), true
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(arguments), &object)
	return []byte(arguments), err == nil && object != nil
}

// answered is the outcome of a call that has an answer: its ends for the model and the item, the whole in the store.
func (a *Activities) answered(ctx context.Context, r mcp.Result) tools.Result {
	res := tools.Result{Status: editors.ItemCompleted, ForModel: bothEnds(r.Text, tools.MaxModelBytes-maxRemarks)}
	if r.Text == "" {
		res.ForModel = "It answered without any content."
	}
	a.show(ctx, r.Images, &res)
	if r.Error {
		res.Status, res.Error = editors.ItemFailed, tools.Head(r.Text, 500)
		res.ForModel = "The tool says that it failed:\n" + res.ForModel
	}
	size := len(r.Text)
	if size == 0 {
		return res
	}
	res.Output = &editors.Output{Head: r.Text, TotalBytes: int64(size), Stream: "stdout"}
	if size <= 2*tools.MaxPreviewBytes {
		return res
	}
	res.Output.Head, res.Output.Tail = tools.Head(r.Text, tools.MaxPreviewBytes), tools.Tail(r.Text, tools.MaxPreviewBytes)
	ref, err := blob.PutAll(ctx, a.Blobs, []byte(r.Text))
	if err != nil {
		res.Error = "the whole answer could not be kept: " + err.Error()
		return res
	}
	res.Refs = map[string]string{"stdout": string(ref)}
	return res
}

const (
	maxImages  = 4       // of one answer that are shown
	maxRemarks = 2 << 10 // bytes of what is said beside an answer
)

// show has the model look at the images of an answer, and says in the result what it cannot see.
func (a *Activities) show(ctx context.Context, all [][]byte, res *tools.Result) {
	for n, data := range all[:min(len(all), maxImages)] {
		picture, err := images.Fit(data)
		var ref blob.Ref
		if err == nil {
			ref, err = blob.PutAll(ctx, a.Blobs, picture.Data)
		}
		if err != nil {
			res.ForModel += fmt.Sprintf("\nImage %d is not shown: %s.", n+1, tools.Head(err.Error(), 300))
			continue
		}
		res.Images = append(res.Images, editors.Image{
			Ref: string(ref), Type: picture.Type, Width: picture.Width, Height: picture.Height, Bytes: int64(len(picture.Data)), Name: fmt.Sprintf("image %d", n+1),
		})
	}
	if more := len(all) - maxImages; more > 0 {
		res.ForModel += fmt.Sprintf("\n%d more images are not shown.", more)
	}
}

// bothEnds is text of at most n bytes and a note of what was left out of its middle.
func bothEnds(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := tools.Head(text, n/2), tools.Tail(text, n/2)
	return fmt.Sprintf("%s\n[… %d bytes left out; ask for less at a time to see them …]\n%s", head, len(text)-len(head)-len(tail), tail)
}

// listServers tells how the MCP servers are.
func (a *Activities) listServers(ctx context.Context, params json.RawMessage) (any, error) {
	var p editors.MCPParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, editors.Errorf(editors.CodeInvalidParams, "mcp takes start.")
	}
	out := editors.MCPResult{Servers: []editors.MCPServer{}}
	if a.Servers == nil {
		return out, nil
	}
	for _, s := range a.Servers.Status(ctx, p.Start) {
		out.Servers = append(out.Servers, s.Shown())
	}
	return out, nil
}

func failedCall(why string) tools.Result {
	return tools.Result{Status: editors.ItemFailed, Error: why, ForModel: "Error: " + why}
}

func unknown(why string) tools.Result {
	text := why + " What the call has done is unknown, and it was not repeated."
	return tools.Result{Status: editors.ItemUnknown, Error: text, ForModel: "Error: " + text + " Find out before you call it again."}
}
