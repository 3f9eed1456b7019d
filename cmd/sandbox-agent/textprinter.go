// This file prints a session's events for people: text as it is streamed, a line for each tool call, its output's end.

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sandboxagent/editors"
)

// Bounds of what is printed for one tool call.
const (
	tailLines    = 10
	subjectRunes = 160
)

// textPrinter prints for people.
type textPrinter struct {
	out    io.Writer
	notes  io.Writer // for what is not part of the conversation
	term   terminal
	turn   int    // only this turn, 0: all
	own    string // the user message that needs no repeating
	err    error
	midway bool   // the cursor is not at the start of a line
	now    string // the item whose text is being printed
	header string // the tool call whose line was printed last
	waits  string // what is waited for
	since  time.Time
	told   string // what of it was printed

	streams   map[string]*textStream
	proposals map[string]string // what calls that have begun would change in files
}

// textStream is the text printed of one item.
type textStream struct {
	attempt int
	next    int64 // the delta that comes next
	text    string
	lost    bool // a delta is missing; the rest comes with the whole item
}

func newTextPrinter(a *app, turn int, own string) *textPrinter {
	return &textPrinter{out: a.stdout, notes: a.stderr, term: a.term, turn: turn, own: own, streams: make(map[string]*textStream), proposals: make(map[string]string)}
}

func (p *textPrinter) event(e editors.EventMessage) error {
	switch event := e.Event; event.Type {
	case editors.ItemStarted:
		if p.wants(event.Item) {
			p.started(*event.Item)
		}
	case editors.ItemDelta:
		if event.Stream == "text" && p.streams[event.ItemID] != nil {
			p.delta(event)
		}
	case editors.ItemEnded:
		if p.wants(event.Item) {
			p.ended(*event.Item)
		}
	case editors.StateChanged:
		p.state(event.State)
	case editors.ConnectionChanged:
		p.connection(event)
	case editors.TurnEnded:
		if p.turn == 0 || event.TurnID == p.turn {
			p.turnEnded(event)
		}
	}
	return p.err
}

// wants reports whether an item is to be printed.
func (p *textPrinter) wants(item *editors.Item) bool {
	return item != nil && (p.turn == 0 || item.TurnID == p.turn) && item.ID != p.own
}

func (p *textPrinter) started(item editors.Item) {
	switch item.Kind {
	case editors.AgentMessage:
		p.streams[item.ID] = &textStream{attempt: item.Attempt}
	case editors.ToolCall:
		p.toolHeader(item)
		if proposal := item.Proposal(); proposal != "" {
			p.proposals[item.ID] = proposal
		}
	}
}

func (p *textPrinter) delta(e editors.Event) {
	s := p.streams[e.ItemID]
	if e.Attempt < s.attempt || e.Encoding == "base64" {
		return
	}
	if e.Attempt > s.attempt {
		if s.text != "" {
			p.line(p.term.dim("(starting over)"))
		}
		*s = textStream{attempt: e.Attempt}
	}
	if e.N != s.next {
		s.lost = s.lost || e.N > s.next
		return
	}
	s.next++
	if !s.lost {
		p.stream(e.ItemID, s, e.Data)
	}
}

// stream prints more text of an item.
func (p *textPrinter) stream(id string, s *textStream, text string) {
	if text == "" {
		return
	}
	if p.now != id {
		p.endLine()
		p.now = id
	}
	s.text += text
	p.write(plain(text))
}

func (p *textPrinter) ended(item editors.Item) {
	switch item.Kind {
	case editors.AgentMessage:
		p.messageEnded(item)
	case editors.UserMessage:
		p.line(p.term.bold("> " + strings.ReplaceAll(plain(item.Text), "\n", "\n> ")))
	case editors.ToolCall:
		p.toolEnded(item)
	case editors.Notice:
		p.line(p.term.yellow("! " + block(item.Text, "  ")))
	}
}

// messageEnded prints what was not streamed of a message, or all of it when the stream was of something else.
func (p *textPrinter) messageEnded(item editors.Item) {
	s := p.streams[item.ID]
	if s == nil {
		s = &textStream{}
	}
	delete(p.streams, item.ID)
	switch rest, more := strings.CutPrefix(item.Text, s.text); {
	case more:
		p.stream(item.ID, s, rest)
	case !strings.HasPrefix(s.text, item.Text):
		p.now = ""
		p.stream(item.ID, s, item.Text)
	}
	p.endLine()
	if item.TextBytes > int64(len(s.text)) {
		p.line(p.term.dim(fmt.Sprintf("(the answer goes on; %d bytes in all)", item.TextBytes)))
	}
}

func (p *textPrinter) toolHeader(item editors.Item) {
	p.header = item.ID
	p.line(p.term.cyan("● "+line(item.Tool)) + " " + oneLine(subject(item), subjectRunes))
}

func (p *textPrinter) toolEnded(item editors.Item) {
	if p.header != item.ID {
		p.toolHeader(item)
	}
	p.header = ""
	delete(p.proposals, item.ID)
	if item.Output != nil && item.Diff == "" {
		p.output(*item.Output)
	}
	p.diff(item)
	if end := p.toolStatus(item); end != "" {
		p.line("  " + end)
	}
}

// output prints the end of what a command printed.
func (p *textPrinter) output(o editors.Output) {
	text := o.Tail
	if text == "" {
		text = o.Head
	}
	lines := strings.Split(strings.TrimRight(plain(text), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return
	}
	if cut := len(lines) - tailLines; cut > 0 || o.TotalBytes > int64(len(text)) {
		lines = lines[max(cut, 0):]
		p.line(p.term.dim("  … " + size(o.TotalBytes) + " in all"))
	}
	for _, line := range lines {
		p.line(p.term.dim("  │ ") + line)
	}
}

func (p *textPrinter) diff(item editors.Item) {
	if item.Diff == "" {
		return
	}
	for _, line := range p.term.diff(item.Diff) {
		p.line("  " + line)
	}
}

// toolStatus says how a tool call ended, "" when there is nothing to say.
func (p *textPrinter) toolStatus(item editors.Item) string {
	var parts []string
	if item.ExitCode != nil {
		parts = append(parts, fmt.Sprintf("exit %d", *item.ExitCode))
	}
	if item.Status != editors.ItemCompleted {
		parts = append(parts, string(item.Status))
	}
	if item.Error != "" {
		parts = append(parts, line(item.Error))
	}
	if item.Background && item.StoppedBy == "" {
		parts = append(parts, "goes on in the background as "+item.ID)
	}
	if len(parts) == 0 {
		return ""
	}
	if item.DurationMs >= 1000 {
		parts = append(parts, (time.Duration(item.DurationMs) * time.Millisecond).Round(100*time.Millisecond).String())
	}
	text := "└ " + strings.Join(parts, " · ")
	if item.Status != editors.ItemCompleted || item.ExitCode != nil && *item.ExitCode != 0 {
		return p.term.red(text)
	}
	return p.term.dim(text)
}

// state keeps what is waited for; it is told when it takes a while.
func (p *textPrinter) state(s *editors.State) {
	if s != nil {
		p.waits, p.since = editors.Advice(s.Reason, s.Remedy), s.Since
	}
}

// connection tells that the session cannot be followed, or that it can again.
func (p *textPrinter) connection(e editors.Event) {
	if e.Connected {
		p.note(p.term.dim("· The session goes on."))
		return
	}
	p.note(p.term.yellow("! ") + editors.Advice("Waiting: "+line(e.Reason), line(e.Remedy)))
}

// longSince is from when on it is worth telling how long something is waited for.
const longSince = 5 * time.Second

func (p *textPrinter) lull() error {
	if p.waits != "" && p.waits != p.told {
		text := "· " + line(p.waits)
		if d := time.Since(p.since); !p.since.IsZero() && d >= longSince {
			text += fmt.Sprintf(" (for %s)", d.Round(time.Second))
		}
		p.note(p.term.dim(text))
	}
	p.told = p.waits
	return p.err
}

func (p *textPrinter) turnEnded(e editors.Event) {
	p.endLine()
	switch e.Status {
	case editors.TurnInterrupted:
		p.note(p.term.yellow("Interrupted."))
	case editors.TurnFailed:
		p.note(p.term.red("Failed: ") + block(e.Message, "  "))
		if e.Error != nil && e.Error.Remedy != "" {
			p.note(block(e.Error.Remedy, "  "))
		}
	}
	if cost := costOf(e.Usage); cost != "" {
		p.note(p.term.dim("· " + cost))
	}
}

// costOf says what a turn has cost, "" when nothing is known of that.
func costOf(u *editors.Usage) string {
	switch {
	case u == nil || u.Cost <= 0:
		return ""
	case u.UnpricedCalls > 0:
		return fmt.Sprintf("The turn has cost at least $%.4f; the price of %d of its %d model calls is not known.", u.Cost, u.UnpricedCalls, u.ModelCalls)
	}
	return fmt.Sprintf("The turn has cost $%.4f.", u.Cost)
}

func (p *textPrinter) approval(a editors.Approval) error {
	question := "May the agent run " + line(a.Tool) + "?"
	if a.Tool == editors.BudgetTool {
		question = "May the turn go on beyond its budget?"
	}
	p.note(p.term.yellow("? ") + question)
	for line := range strings.SplitSeq(plain(a.Subject), "\n") {
		p.note("    " + line)
	}
	if proposal := p.proposals[a.ItemID]; proposal != "" {
		for _, line := range p.term.diff(proposal) {
			p.note("    " + line)
		}
	}
	if a.Reason != "" {
		p.note(p.term.dim("  " + line(a.Reason)))
	}
	if a.Pattern != "" {
		p.note(p.term.dim("  always allows: " + line(a.Pattern)))
	}
	return p.err
}

// line prints one line of the conversation.
func (p *textPrinter) line(s string) {
	p.endLine()
	p.write(s + "\n")
}

// note prints one line beside the conversation.
func (p *textPrinter) note(s string) {
	if p.term.output {
		p.endLine()
	}
	fmt.Fprintln(p.notes, s)
}

func (p *textPrinter) endLine() {
	if p.midway {
		p.write("\n")
	}
	p.now = ""
}

func (p *textPrinter) write(s string) {
	if s == "" {
		return
	}
	_, err := io.WriteString(p.out, s)
	if err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("printing: %w", err))
	}
	p.midway = !strings.HasSuffix(s, "\n")
}
