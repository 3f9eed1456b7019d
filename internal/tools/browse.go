// This file lists and searches the workspace.

package tools

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
)

const (
	maxEntries   = 500
	defaultDepth = 2
	maxDepth     = 20
	maxMatches   = 200
	maxMatchText = 300 // bytes of a matching line
	notesRoom    = 512 // bytes kept free for what is said at the end
)

// listArgs are the arguments of list.
type listArgs struct {
	Path  string `json:"path"`
	Depth int    `json:"depth"`
}

// runList runs list.
func runList(ctx context.Context, env Env, call Call) (Result, error) {
	var args listArgs
	if err := decode(call, &args); err != nil {
		return Result{}, err
	}
	if args.Depth < 0 {
		return Result{}, sandbox.Errorf(sandbox.ClassInvalid, "list", "give a depth from 1")
	}
	if args.Depth == 0 {
		args.Depth = defaultDepth
	}
	entry, err := resolve(ctx, env, args.Path)
	if err != nil {
		return Result{}, err
	}
	if !entry.Mode.IsDir() && entry.Mode&fs.ModeSymlink == 0 {
		return Result{}, &sandbox.Error{Class: sandbox.ClassInvalid, Op: "list", Path: entry.Path, Message: "this is a file; use read_file"}
	}
	listing, err := env.Sandbox.List(ctx, entry.Path, min(args.Depth, maxDepth), maxEntries)
	if err != nil {
		return Result{}, err
	}
	return textResult(ctx, env, tree(entry.Path, listing, func(path string) string { return env.note(ctx, path) })), nil
}

// tree writes a listing as an indented tree below its root.
func tree(root string, listing sandbox.Listing, note func(path string) string) string {
	entries := slices.Clone(listing.Entries)
	slices.SortStableFunc(entries, func(a, b sandbox.Entry) int {
		return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
	})
	var out strings.Builder
	out.WriteString(show(root) + "/\n")
	level := strings.Count(root, "/") + 1
	if root == "." {
		level = 0
	}
	for _, e := range entries {
		if e.Path == root {
			continue
		}
		out.WriteString(strings.Repeat("  ", strings.Count(e.Path, "/")-level+1) + entryName(e) + bracketed(note(e.Path)) + "\n")
	}
	if len(entries) == 0 {
		out.WriteString("(empty)\n")
	}
	const remedy = "list a subdirectory, or give a smaller depth"
	text, left := headLines(out.String(), MaxModelBytes-notesRoom)
	switch {
	case listing.Truncated:
		text += fmt.Sprintf("(cut: there are more than %d entries; %s)\n", maxEntries-left, remedy)
	case left > 0:
		text += fmt.Sprintf("(cut: %d more entries; %s)\n", left, remedy)
	}
	return text
}

// entryName is the last part of an entry's path, marked by what it is.
func entryName(e sandbox.Entry) string {
	name := show(path.Base(e.Path))
	switch {
	case e.Mode.IsDir():
		return name + "/"
	case e.Mode&fs.ModeSymlink != 0:
		return name + " -> " + show(e.Target)
	case !e.Mode.IsRegular():
		return name + " (special file)"
	}
	return name
}

// searchArgs are the arguments of search.
type searchArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
	Literal bool   `json:"literal"`
}

// runSearch runs search.
func runSearch(ctx context.Context, env Env, call Call) (Result, error) {
	var args searchArgs
	if err := decode(call, &args); err != nil {
		return Result{}, err
	}
	if args.Pattern == "" && args.Glob == "" {
		return Result{}, sandbox.Errorf(sandbox.ClassInvalid, "search", "give a pattern, or a glob to find files by name")
	}
	entry, err := resolve(ctx, env, args.Path)
	if err != nil {
		return Result{}, err
	}
	found, err := env.Sandbox.Search(ctx, sandbox.Query{
		Path: entry.Path, Pattern: args.Pattern, Literal: args.Literal, Glob: args.Glob, Limit: maxMatches,
	})
	if err != nil {
		return Result{}, err
	}
	return textResult(ctx, env, grouped(found, func(path string) string { return env.note(ctx, path) })), nil
}

// grouped writes matches below the names of their files.
func grouped(found sandbox.SearchResult, note func(path string) string) string {
	var out strings.Builder
	previous := ""
	for _, m := range found.Matches {
		if m.Path != previous {
			out.WriteString(show(m.Path) + bracketed(note(m.Path)) + "\n")
			previous = m.Path
		}
		if m.Line > 0 {
			fmt.Fprintf(&out, "%6d\t%s\n", m.Line, shorten(m.Text))
		}
	}
	if len(found.Matches) == 0 {
		out.WriteString("No matches.\n")
	}
	text, left := headLines(out.String(), MaxModelBytes-notesRoom)
	if left > 0 || found.Truncated {
		text += "(cut: there are more matches; narrow the search by path, glob or pattern)\n"
	}
	if found.Skipped > 0 {
		text += fmt.Sprintf("(%d files were passed over: binary, unreadable or too large)\n", found.Skipped)
	}
	return text
}

func bracketed(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// shorten makes a matching line one short line.
func shorten(text string) string {
	text = strings.TrimRight(valid(text), "\r\n")
	if len(text) <= maxMatchText {
		return text
	}
	return Head(text, maxMatchText) + "…"
}

// textResult is the result of a tool that only looked.
func textResult(ctx context.Context, env Env, text string) Result {
	result := Result{Status: editors.ItemCompleted, ForModel: text}
	result.show(ctx, env, text)
	return result
}

// show previews text as the call's output and keeps it if the preview cuts it.
func (r *Result) show(ctx context.Context, env Env, text string) {
	text = valid(text)
	r.Output = &editors.Output{TotalBytes: int64(len(text)), Stream: string(sandbox.Stdout), Head: text}
	if len(text) > 2*MaxPreviewBytes {
		r.Output.Head, r.Output.Tail = Head(text, MaxPreviewBytes), Tail(text, MaxPreviewBytes)
		r.keep(ctx, env, string(sandbox.Stdout), []byte(text))
	}
}
