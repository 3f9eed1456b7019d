// This file reads files of checkpoints.

package commands

import (
	"context"
	"encoding/base64"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"sandboxagent/editors"
	"sandboxagent/internal/checkpoint/tree"
)

// ReadFile reads a range of a file as it is in a checkpoint, by default as it is now.
func (s Subject) ReadFile(ctx context.Context, p editors.ReadFileParams) (editors.ReadFileResult, error) {
	out, err := s.readFile(ctx, p)
	return out, Error(err)
}

func (s Subject) readFile(ctx context.Context, p editors.ReadFileParams) (editors.ReadFileResult, error) {
	var none editors.ReadFileResult
	if p.Offset < 0 || p.Limit < 0 {
		return none, editors.Errorf(editors.CodeInvalidParams, "offset and limit must not be negative")
	}
	path := strings.TrimPrefix(filepath.ToSlash(s.relative([]string{p.Path})[0]), "./")
	if tree.CheckPath(path) != nil {
		return none, editors.Errorf(editors.CodeInvalidParams, "%q is no path in the workspace", p.Path).WithRemedy("Name a file relative to the workspace's folder.")
	}
	id, err := s.pictured(ctx, p.CheckpointID)
	if err != nil {
		return none, err
	}
	e, err := s.Store.Lookup(id, path)
	if err != nil {
		return none, err
	}
	switch e.Kind {
	case tree.File:
	case tree.Link:
		return piece([]byte(e.Target), p.Offset, int64(len(e.Target)), true), nil
	default:
		return none, editors.Errorf(editors.CodeInvalidParams, "%q is a folder", p.Path).WithRemedy("Name a file in it.")
	}
	if p.Limit == 0 || p.Limit > editors.MaxOutputRead {
		p.Limit = editors.MaxOutputRead
	}
	data, err := s.Store.ReadRange(e, p.Offset, p.Limit)
	if err != nil {
		return none, err
	}
	return piece(data, min(p.Offset, e.Size), e.Size, false), nil
}

// pictured returns a checkpoint by its id or the beginning of it; "" means one taken now, for the moment only.
func (s Subject) pictured(ctx context.Context, id string) (string, error) {
	if id == "" {
		now, err := s.take(ctx, nil)
		return now.ID, err
	}
	refs, err := s.refs()
	if err != nil {
		return "", err
	}
	return s.find(refs, id, 0)
}

// piece makes data an answer. Text goes as it is, unless it would grow beyond a message in JSON.
func piece(data []byte, offset, total int64, link bool) editors.ReadFileResult {
	out := editors.ReadFileResult{Data: string(data), Encoding: "utf8", Offset: offset, End: offset + int64(len(data)), Total: total, Link: link}
	if !utf8.Valid(data) || size(out.Data) > maxAnswer {
		out.Data, out.Encoding = base64.StdEncoding.EncodeToString(data), "base64"
	}
	return out
}
