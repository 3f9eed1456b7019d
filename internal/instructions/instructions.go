// This file defines what a workspace says to agents, and the limits of it.

// Package instructions finds what a workspace says to agents: AGENTS.md files, from the root down to the directories that the
// session works in, and skills below .agents/skills. It reads them from the session's sandbox and puts them into words for
// the model, marked as what they are: text by whoever can write to the workspace, with no say in what is allowed.
package instructions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"sandboxagent/internal/sandbox"
)

// Names of what is looked for.
const (
	FileName  = "AGENTS.md"
	SkillsDir = ".agents/skills"
	SkillName = "SKILL.md"
)

// Limits. A file that exceeds one is left out and named with the reason.
const (
	MaxFileBytes  = 32 << 10 // of one AGENTS.md
	MaxTotalBytes = 64 << 10 // of all of them
	MaxDirs       = 32       // directories looked into
	MaxSkills     = 64
	maxHead       = 8 << 10 // of a skill's file, which must hold its front matter
	maxName       = 64      // characters
	maxDesc       = 1024    // bytes of a skill's description
	maxDepth      = 16
)

// Workspace is what is needed of a sandbox.
type Workspace interface {
	Stat(ctx context.Context, path string) (sandbox.Entry, error)
	ReadFile(ctx context.Context, path string, offset int64, n int) (sandbox.FileContent, error)
	List(ctx context.Context, path string, depth, limit int) (sandbox.Listing, error)
}

// File is an AGENTS.md, or why it could not be used.
type File struct {
	Path    string // relative to the workspace
	Text    string
	Problem string // why there is no Text, e.g. "it is larger than 32 KiB"
}

// ID says whether two looks have found the same.
func (f File) ID() string { return shortSum(f.Problem + "\x00" + f.Text) }

// Skill is something the workspace explains how to do. Its body stays in the file.
type Skill struct {
	Path              string
	Name, Description string
	Problem           string // why it cannot be used
}

// Set is all that a workspace says to agents, outermost first.
type Set struct {
	Files  []File
	Skills []Skill
	More   int // skills beyond MaxSkills
}

// Dirs returns the directories whose AGENTS.md counts for files in the given ones: these and all above, the root first.
// Directories are relative to the workspace; what leads outside is left out.
func Dirs(work []string) []string {
	all := []string{"."}
	for _, dir := range work {
		dir = path.Clean(dir)
		if path.IsAbs(dir) || dir == ".." || strings.HasPrefix(dir, "../") || strings.ContainsRune(dir, 0) || strings.Count(dir, "/") >= maxDepth {
			continue
		}
		for ; dir != "." && !slices.Contains(all, dir); dir = path.Dir(dir) {
			all = append(all, dir)
		}
	}
	slices.SortFunc(all[1:], func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return all[:min(len(all), MaxDirs)]
}

func shortSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
