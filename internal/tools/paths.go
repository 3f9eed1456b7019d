// This file turns the paths that models write into paths of the workspace, and those into text.

package tools

import (
	"context"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"sandboxagent/internal/sandbox"
)

// relative returns name relative to the workspace, if it is an absolute path within it; "" is the workspace's root. What leads
// outside is left for the sandbox to refuse.
func relative(env Env, name string) string {
	if name == "" {
		return "."
	}
	root := strings.TrimSuffix(env.Sandbox.Ref().Workspace, "/")
	if root != "" && path.IsAbs(name) {
		clean := path.Clean(name)
		if clean == root {
			return "."
		}
		if rest, ok := strings.CutPrefix(clean, root+"/"); ok {
			return rest
		}
	}
	if path.IsAbs(name) {
		return name
	}
	return path.Clean(name)
}

// resolve returns the entry of an existing path. A name with backslashes that does not exist is taken as a Windows path.
func resolve(ctx context.Context, env Env, name string) (sandbox.Entry, error) {
	rel := relative(env, name)
	entry, err := env.Sandbox.Stat(ctx, rel)
	if sandbox.ClassOf(err) == sandbox.ClassNotFound && strings.Contains(rel, `\`) {
		return resolve(ctx, env, strings.ReplaceAll(rel, `\`, "/"))
	}
	if sandbox.ClassOf(err) == sandbox.ClassNotFound {
		return entry, &sandbox.Error{
			Class: sandbox.ClassNotFound, Op: "find", Path: rel, Message: "there is no such file or directory; use list to see what is there",
		}
	}
	return entry, err
}

// show returns a path as text: as it is, or quoted when it has characters that would be mistaken.
func show(name string) string {
	unclear := !utf8.ValidString(name) || strings.TrimSpace(name) != name || strings.ContainsFunc(name, unprintable)
	if unclear {
		return strconv.Quote(name)
	}
	return name
}

// unprintable says whether a character could hide or reorder what stands beside it.
func unprintable(r rune) bool { return r != ' ' && !strconv.IsPrint(r) }
