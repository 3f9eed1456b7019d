// This file orders sessions as a tree: forks below what they were forked from.

package main

import "sandboxagent/editors"

// relative is a session with the branch that leads to it.
type relative struct {
	editors.Session
	branch string
}

// family returns the sessions in their order, each followed by its forks. A fork whose parent is not among them stands by
// itself.
func family(sessions []editors.Session) []relative {
	there := make(map[string]bool, len(sessions))
	for _, s := range sessions {
		there[s.ID] = true
	}
	forks := make(map[string][]editors.Session)
	var roots []editors.Session
	for _, s := range sessions {
		if s.ParentID == "" || s.ParentID == s.ID || !there[s.ParentID] {
			roots = append(roots, s)
			continue
		}
		forks[s.ParentID] = append(forks[s.ParentID], s)
	}
	var all []relative
	for _, s := range roots {
		all = append(all, relative{Session: s})
		all = appendForks(all, forks, s.ID, "")
	}
	return all
}

func appendForks(all []relative, forks map[string][]editors.Session, parent, indent string) []relative {
	for i, s := range forks[parent] {
		fork, below := "├─ ", "│  "
		if i == len(forks[parent])-1 {
			fork, below = "└─ ", "   "
		}
		all = append(all, relative{Session: s, branch: indent + fork})
		all = appendForks(all, forks, s.ID, indent+below)
	}
	return all
}
