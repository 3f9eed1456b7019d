// This file asks and steers.

package core

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/session"
)

const (
	maxInlineFar = 48 << 10 // of a text to a session whose store this host cannot reach
	maxAsked     = 256      // requests whose session is remembered

	firstPatience = 15 * time.Second
	firstPoll     = 20 * time.Millisecond
)

func (c *Conn) ask(ctx context.Context, p editors.AskParams) (editors.AskResult, error) {
	if strings.TrimSpace(p.Text) == "" {
		return editors.AskResult{}, editors.Errorf(editors.CodeInvalidParams, "there is nothing asked: text is empty")
	}
	p.RequestID = newRequestID(p.RequestID)
	id, err := c.target(ctx, p)
	if err != nil {
		return editors.AskResult{}, err
	}
	in, err := c.core.askInput(ctx, id, p.Text, p.Context)
	if err != nil {
		return editors.AskResult{}, err
	}
	in.RequestID, in.Model, in.By = p.RequestID, p.Model, c.name
	var result editors.AskResult
	err = c.core.update(ctx, "asking the agent", agent.WorkflowID(id), agent.UpdateAsk, p.RequestID, in, &result)
	if err != nil {
		return editors.AskResult{}, err
	}
	c.settle(ctx, id, result.Seq)
	return result, nil
}

func (c *Conn) steer(ctx context.Context, p editors.SteerParams) (editors.SteerResult, error) {
	if strings.TrimSpace(p.Text) == "" {
		return editors.SteerResult{}, editors.Errorf(editors.CodeInvalidParams, "there is nothing to add: text is empty")
	}
	if p.SessionID == "" {
		return editors.SteerResult{}, noSession()
	}
	in, err := c.core.askInput(ctx, p.SessionID, p.Text, nil)
	if err != nil {
		return editors.SteerResult{}, err
	}
	in.RequestID, in.ExpectedTurnID, in.By = newRequestID(p.RequestID), p.ExpectedTurnID, c.name
	var result editors.SteerResult
	err = c.core.update(ctx, "steering the turn", agent.WorkflowID(p.SessionID), agent.UpdateSteer, in.RequestID, in, &result)
	if err != nil {
		return editors.SteerResult{}, err
	}
	c.settle(ctx, p.SessionID, result.Seq)
	return result, nil
}

// askInput reads what goes with a text, and puts what is long into the store of this host, if the session's worker reads that store.
func (c *Core) askInput(ctx context.Context, id, text string, context []editors.Context) (agent.AskInput, error) {
	if len(text) > editors.MaxTextBytes {
		return agent.AskInput{}, editors.Errorf(editors.CodeLimit, "the text has %d bytes; at most %d are allowed", len(text), editors.MaxTextBytes).
			WithRemedy("Put it into a file and name the file.")
	}
	context, err := c.enclose(ctx, id, text, context)
	if err != nil {
		return agent.AskInput{}, err
	}
	in := agent.AskInput{Text: text, Context: context}
	more := 0
	for _, part := range context {
		more += len(part.Text)
	}
	if len(text) <= agent.MaxInlineText && more <= agent.MaxInlineText {
		return in, nil
	}
	s, err := c.session(ctx, id)
	if err != nil {
		return agent.AskInput{}, err
	}
	if s.HostID != c.HostID() {
		if len(text)+more > maxInlineFar {
			return agent.AskInput{}, editors.Errorf(editors.CodeLimit,
				"the session is on another host, to which at most %d bytes can be sent; this is %d", maxInlineFar, len(text)+more)
		}
		return in, nil
	}
	return c.storeInput(ctx, in, more)
}

func (c *Core) storeInput(ctx context.Context, in agent.AskInput, more int) (agent.AskInput, error) {
	store, err := c.blobs.open()
	if err != nil {
		return in, asError("storing the text", err)
	}
	if len(in.Text) > agent.MaxInlineText {
		ref, err := blob.PutAll(ctx, store, []byte(in.Text))
		if err != nil {
			return in, asError("storing the text", err)
		}
		in.TextRef, in.TextBytes, in.Text = string(ref), int64(len(in.Text)), cut(in.Text, agent.MaxInlineText)
	}
	if more > agent.MaxInlineText {
		ref, err := blob.PutJSON(ctx, store, in.Context)
		if err != nil {
			return in, asError("storing the context", err)
		}
		in.ContextRef, in.Context = string(ref), beginnings(in.Context, agent.MaxInlineText)
	}
	return in, nil
}

// beginnings returns the parts with n bytes of text in all.
func beginnings(parts []editors.Context, n int) []editors.Context {
	short := make([]editors.Context, len(parts))
	for i, part := range parts {
		part.Text = cut(part.Text, n)
		n -= len(part.Text)
		short[i] = part
	}
	return short
}

// cut returns at most n bytes of text, ending between runes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// askedSessions remembers which session a request without one went to, so that repeating it goes there again.
type askedSessions struct {
	mu    sync.Mutex
	ids   map[string]string
	order []string
}

func (a *askedSessions) get(requestID string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ids[requestID]
}

func (a *askedSessions) put(requestID, sessionID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids == nil {
		a.ids = make(map[string]string)
	}
	if len(a.order) == maxAsked {
		delete(a.ids, a.order[0])
		a.order = a.order[1:]
	}
	a.ids[requestID] = sessionID
	a.order = append(a.order, requestID)
}

// target returns the session an ask goes to: the given one, else the latest of the folder on this host, else a new one.
func (c *Conn) target(ctx context.Context, p editors.AskParams) (string, error) {
	if p.SessionID != "" {
		return p.SessionID, nil
	}
	if id := c.core.asked.get(p.RequestID); id != "" {
		return id, nil
	}
	folder, err := c.folder(p.WorkspaceFolder)
	if err != nil {
		return "", err
	}
	id, err := c.core.latestOrNew(ctx, p, folder)
	if err != nil {
		return "", err
	}
	c.core.asked.put(p.RequestID, id)
	return id, nil
}

// latestOrNew makes a session only while nobody else of this installation looks for one, so that those who ask at the same
// time find the one that the first of them makes.
func (c *Core) latestOrNew(ctx context.Context, p editors.AskParams, folder string) (string, error) {
	made := c.sessionIDFor(p.RequestID)
	id, err := c.latest(ctx, folder, made)
	if id != "" || err != nil {
		return id, err
	}
	defer c.HoldFirst(ctx)()
	id, err = c.latest(ctx, folder, made)
	if id != "" || err != nil {
		return id, err
	}
	created, err := c.create(ctx, editors.NewParams{RequestID: p.RequestID, WorkspaceFolder: folder, Model: p.Model})
	return created.Session.ID, err
}

// HoldFirst takes the lock that whoever may make the first session of a folder holds while looking for one, in whichever
// process of this installation, until release. Who waits long for it goes on without: a second session is no harm.
func (c *Core) HoldFirst(ctx context.Context) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	lock := flock.New(filepath.Join(c.opts.Paths.StateDir, "first-session.lock"), flock.SetPermissions(0o600))
	if held, err := lock.TryLockContext(ctx, firstPoll); !held {
		c.log.Warn("first session not locked", "error", err)
		return func() {}
	}
	return func() { _ = lock.Unlock() }
}

// latest returns the newest session of the folder on this host, "" when there is none; made is the one that
// the same request made before, if it did. A fork works elsewhere: it is meant only by its own folder.
func (c *Core) latest(ctx context.Context, folder, made string) (string, error) {
	list, err := c.list(ctx, session.ListRequest{FolderURI: folder, IncludeForks: true, Limit: listMax})
	if err != nil {
		return "", err
	}
	latest, fork := "", c.forkOf(folder)
	for _, s := range list.Sessions {
		switch {
		case s.ID == made:
			return made, nil
		case s.ParentID != "" && s.ID != fork:
		case latest == "" && s.HostID == c.HostID() && s.State.Status != editors.StatusDestroyed:
			latest = s.ID
		}
	}
	return latest, nil
}

// session returns a session as last known: from a watcher, from its workflow's memo, else from the workflow.
func (c *Core) session(ctx context.Context, id string) (editors.Session, error) {
	if w := c.watcher(id); w != nil {
		if s, ok := w.known(); ok {
			return s, nil
		}
	}
	if s := c.remembered(ctx, id); s != nil {
		return *s, nil
	}
	v, err := c.view(ctx, id, nil)
	return v.Session, err
}

// remembered returns what Temporal knows of a session without a worker, nil when nothing.
func (c *Core) remembered(ctx context.Context, id string) *editors.Session {
	e, err := c.link.engine(ctx)
	if err != nil {
		return nil
	}
	var d description
	err = bounded(ctx, diagnosisTime, func(ctx context.Context) (err error) {
		d, err = e.Describe(ctx, agent.WorkflowID(id))
		return err
	})
	if err != nil {
		return nil
	}
	return d.session
}
