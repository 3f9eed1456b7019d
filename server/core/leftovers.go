// This file tells what sandboxes and folders are left on this host that no session needs.

package core

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sandboxagent/editors"
)

// CallOrphans asks this host's worker for what no session needs: editors.Empty → orphans.
const CallOrphans = "orphans"

const (
	leftoversTime = 3 * time.Second
	maxLeftovers  = 5 // that are named
)

// orphans is what a worker answers to CallOrphans.
type orphans struct {
	Orphans []struct {
		Kind      string `json:"kind"` // of a backend, or fork
		ID        string `json:"id"`   // of the sandbox, or the folder
		Reason    string `json:"reason"`
		Removable bool   `json:"removable"`
	} `json:"orphans"`
	Problems []string `json:"problems"`
}

// checkLeftovers says nothing while no worker runs, which another check tells.
func (c *Core) checkLeftovers(ctx context.Context) []editors.Check {
	if !c.workerAlive() {
		return nil
	}
	var found orphans
	err := bounded(ctx, leftoversTime, func(ctx context.Context) error { return c.live.await(ctx, CallOrphans, editors.Empty{}, &found) })
	if err != nil {
		return []editors.Check{check("leftovers", checkWarning, "Read the worker's log: "+c.workerLog(), "the worker does not tell what no session needs: %v", err)}
	}
	var checks []editors.Check
	if len(found.Problems) > 0 {
		checks = append(checks, check("leftovers", checkWarning,
			"Start what does not answer, or set DOCKER_HOST or the Docker context back and start the worker again; then look again.",
			"not looked at: %s", strings.Join(firstOf(found.Problems), "; ")))
	}
	if len(found.Orphans) > 0 {
		return append(checks, needless(found))
	}
	if len(checks) == 0 {
		checks = append(checks, check("leftovers", checkOK, "", "no sandbox and no fork's folder is without its session"))
	}
	return checks
}

// firstOf bounds a list, saying how much more there is.
func firstOf(all []string) []string {
	if len(all) <= maxLeftovers {
		return all
	}
	return append(all[:maxLeftovers:maxLeftovers], fmt.Sprintf("and %d more", len(all)-maxLeftovers))
}

// needless tells what no session needs.
func needless(found orphans) editors.Check {
	var named []string
	removable := true
	for _, o := range found.Orphans {
		removable = removable && o.Removable
		named = append(named, fmt.Sprintf("%s %s (%s)", o.Kind, o.ID, o.Reason))
	}
	remedy := "The worker removes what is older than an hour."
	if !removable {
		remedy += " What it cannot know to be needless is yours to remove, by docker rm or by deleting the folder."
	}
	return check("leftovers", checkWarning, remedy, "no session needs: %s", strings.Join(firstOf(named), ", "))
}
