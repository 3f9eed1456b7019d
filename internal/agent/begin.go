// This file makes the state of a session that begins in a sandbox which is no copy of its folder until that was carried there.

package agent

import (
	"fmt"
	"strings"

	"sandboxagent/editors"
)

// BeginsEmpty tells whether sandboxes of a kind are no copies of the folder when they are made.
func BeginsEmpty(kind editors.BackendKind) bool {
	return kind == editors.E2B || kind == editors.Daytona
}

// BeginWith is what the session begins with: its sandbox holds what was carried from the folder.
func (s *State) BeginWith(out CarryOutput) {
	s.Starting = false // that is the checkpoint of the start
	s.Session.CheckpointID, s.Pictured = out.CheckpointID, "Start of the session"
	s.Base = first(out.Base, out.CheckpointID)
	name := s.placeName(s.place(s.Session.Backend))
	carried := carriedAll(out.Carry) + leftOut(out.Carry)
	s.Seq++
	s.Items = append(s.Items, noticeItem(s.NextItem, 0, s.Seq, s.Session.CreatedAt, fmt.Sprintf("Runs in %s: %s.", name, carried)))
	s.NextItem++
	s.note("Files and commands of this session are in "+name+", on a copy of the user's folder: "+carried+".",
		strings.Join(firstOf(out.Notes, maxTold, maxName), " "))
}
