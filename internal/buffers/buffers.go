// Package buffers brings the agent's changes into documents that an editor shows with unsaved changes: the worker hands them to
// the server of that editor, which asks the editor to make them, and tells what came of it. The editor's text always wins.
package buffers

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The calls that the worker answers for it on its feed.
const (
	MethodTake   = "takeEdit"   // Taker → Edit; without an ID when there was none in time
	MethodAnswer = "answerEdit" // Answer → editors.Empty
)

// How long things may take.
const (
	lookTime   = 25 * time.Second // of one look of a server
	pause      = time.Second      // after a look that failed
	takeTime   = 10 * time.Second // until the editor's server takes an edit
	answerTime = 60 * time.Second // until it tells what came of it
)

// Taker says for which editor a server takes edits.
type Taker struct {
	Holder string `json:"holder"`
}

// Edit is a change of documents: of all or none.
type Edit struct {
	ID    string `json:"id"`
	Files []File `json:"files"`
}

// File is a document as it is to be.
type File struct {
	URI  string `json:"uri"`
	From string `json:"from"` // the text that Text is a change of; what the user has typed since is joined with it
	Text string `json:"text"`
}

// Answer tells what came of an edit.
type Answer struct {
	ID      string            `json:"id"`
	Applied bool              `json:"applied"`
	Unknown bool              `json:"unknown,omitempty"` // nobody can tell whether it was applied
	Reason  string            `json:"reason,omitempty"`  // why not, in a few words
	Now     map[string]string `json:"now,omitempty"`     // documents that are not as the edit says, by URI
	Closed  []string          `json:"closed,omitempty"`  // documents that the editor does not show any more, by URI
}

// Errors of Desk.Do.
var (
	ErrNobody  = errors.New("the editor is not there")
	ErrUnknown = errors.New("the editor has not answered")
)

// Desk is where workers leave edits and servers take them. Its zero value is ready.
type Desk struct {
	mu      sync.Mutex
	holders map[string]*counter
	answers map[string]chan Answer
}

// counter hands edits over; it is there while somebody is at it.
type counter struct {
	edits chan Edit
	users int
}

// Do has an edit made by the editor that holds the documents. ErrNobody: nothing was done; ErrUnknown: nobody knows.
func (d *Desk) Do(ctx context.Context, holder string, e Edit) (Answer, error) {
	answer := make(chan Answer, 1)
	d.expect(e.ID, answer)
	defer d.expect(e.ID, nil)
	at, leave := d.at(holder)
	defer leave()
	taken, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	select {
	case at.edits <- e:
	case <-taken.Done():
		return Answer{}, ErrNobody
	}
	answered, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime) // it is under way
	defer cancel()
	select {
	case a := <-answer:
		return a, nil
	case <-answered.Done():
		return Answer{}, ErrUnknown
	}
}

// Take waits for an edit for a holder until ctx ends.
func (d *Desk) Take(ctx context.Context, holder string) Edit {
	at, leave := d.at(holder)
	defer leave()
	select {
	case e := <-at.edits:
		return e
	case <-ctx.Done():
		return Edit{}
	}
}

// Answer tells whoever waits for it what came of an edit.
func (d *Desk) Answer(a Answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if waiting := d.answers[a.ID]; waiting != nil {
		select {
		case waiting <- a:
		default: // it was answered before
		}
	}
}

func (d *Desk) expect(id string, answer chan Answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answer == nil {
		delete(d.answers, id)
		return
	}
	if d.answers == nil {
		d.answers = map[string]chan Answer{}
	}
	d.answers[id] = answer
}

func (d *Desk) at(holder string) (at *counter, leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holders == nil {
		d.holders = map[string]*counter{}
	}
	at = d.holders[holder]
	if at == nil {
		at = &counter{edits: make(chan Edit)}
		d.holders[holder] = at
	}
	at.users++
	return at, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if at.users--; at.users == 0 {
			delete(d.holders, holder)
		}
	}
}

// Serve takes the edits for a holder by calls to the worker, and has them applied, until ctx ends.
func Serve(ctx context.Context, call func(ctx context.Context, method string, params, result any) error, holder string, apply func(context.Context, Edit) Answer) {
	for ctx.Err() == nil {
		var e Edit
		look, cancel := context.WithTimeout(ctx, lookTime)
		err := call(look, MethodTake, Taker{holder}, &e)
		cancel()
		switch {
		case err != nil:
			rest(ctx)
		case e.ID != "":
			a := apply(ctx, e)
			a.ID = e.ID
			_ = call(ctx, MethodAnswer, a, nil) // without an answer the worker says that the outcome is unknown
		}
	}
}

func rest(ctx context.Context) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
