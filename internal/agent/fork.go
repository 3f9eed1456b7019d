// This file makes the state that a fork begins with.

package agent

import (
	"fmt"
	"strings"
	"time"

	"sandboxagent/editors"
)

// Forked is what a fork is made of.
type Forked struct {
	Session editors.Session
	Home    string // its own directory, an absolute path
	Point   ForkPoint
	Carried CarryOutput // into its sandbox
}

// NewForkState returns the state of a session that goes on from a point of another one.
func NewForkState(owner string, searchAttributes bool, f Forked) State {
	p, out := f.Point, f.Carried
	s := NewState(owner, p.Sandbox.Folder, searchAttributes, f.Session)
	s.Starting = false // it begins as a checkpoint
	s.Home = f.Home
	s.Seq, s.NextItem, s.NextTurn, s.LastEnded = p.Seq, max(p.NextItem, 1), p.Turn.ID+1, p.Turn.ID
	s.Items = append([]editors.Item(nil), p.Items...)
	s.Sealed, s.Head = p.Sealed, p.Turn.Head
	s.Session.TurnID, s.Session.ParentID, s.Session.ForkedAtTurn = p.Turn.ID, p.Session.ID, p.Turn.ID
	s.Session.CheckpointID, s.Pictured = first(out.CheckpointID, p.Turn.CheckpointID), "Start of the fork"
	s.ForkBase = s.Session.CheckpointID // as it is here: what did not travel must not look removed to the parent
	s.GitBase = first(p.GitBase, p.Turn.CheckpointID)
	if p.Sandbox.Backend.Kind == f.Session.Backend.Kind {
		s.Rules = p.Rules
	}
	for _, e := range p.Turns {
		if e.ID < p.Turn.ID {
			s.Turns = append(s.Turns, e)
		}
	}
	s.Pending = append([]Pending(nil), p.Turn.Pending...)
	if p.Turn.ID > 0 {
		s.Turns = append(s.Turns, s.endNow(p.Turn.ID))
	}
	s.tellFork(f)
	return s
}

// tellFork says in a fork's conversation, to the user and to the model, where it comes from.
func (s *State) tellFork(f Forked) {
	from := fmt.Sprintf("%q as it was after turn %d", f.Point.Session.Title, f.Point.Turn.ID)
	if f.Point.Turn.ID == 0 {
		from = fmt.Sprintf("%q as it was before its first turn", f.Point.Session.Title)
	}
	name := s.placeName(s.place(s.Session.Backend))
	carried := carriedAll(f.Carried.Carry) + leftOut(f.Carried.Carry)
	s.Seq++
	s.Items = append(s.Items, noticeItem(s.NextItem, s.Session.TurnID, s.Seq, s.Session.CreatedAt,
		strings.TrimSpace(fmt.Sprintf("Forked from %s; runs in %s: %s; %s. %s", from, name, carried, doesNotTravel, f.Point.Notice))))
	s.NextItem++
	s.note("This session is a fork of "+from+". Files and commands are now in "+name+", on a copy of the workspace of its own: "+carried+".",
		"What was installed or started elsewhere is not here: "+doesNotTravel+". Look at what is there before you rely on it.",
		f.Point.Notice, strings.Join(firstOf(f.Carried.Notes, maxTold, maxName), " "))
}

func noticeItem(number, turn int, seq int64, at time.Time, text string) editors.Item {
	return editors.Item{
		ID: fmt.Sprintf("i%d", number), TurnID: turn, Seq: seq, Kind: editors.Notice, Status: editors.ItemCompleted, At: at, Text: text,
	}
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
