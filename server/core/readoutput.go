// This file reads ranges of what an item's preview left out.

package core

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
)

// outputStreams are what an item can have more of.
var outputStreams = []string{"stdout", "stderr", "text", "diff", "arguments"}

func (c *Conn) readOutput(ctx context.Context, p editors.ReadOutputParams) (editors.ReadOutputResult, error) {
	switch {
	case p.SessionID == "":
		return editors.ReadOutputResult{}, noSession()
	case !slices.Contains(outputStreams, p.Stream):
		return editors.ReadOutputResult{}, editors.Errorf(editors.CodeInvalidParams, "there is no stream %q", p.Stream).
			WithRemedy("Use one of: " + strings.Join(outputStreams, ", ") + ".")
	case p.Offset < 0 || p.Limit < 0:
		return editors.ReadOutputResult{}, editors.Errorf(editors.CodeInvalidParams, "offset and limit must not be negative")
	}
	if p.Limit == 0 || p.Limit > editors.MaxOutputRead {
		p.Limit = editors.MaxOutputRead
	}
	item, err := c.core.item(ctx, p.SessionID, p.ItemID)
	if err != nil {
		return editors.ReadOutputResult{}, err
	}
	output := p.Stream == "stdout" || p.Stream == "stderr"
	switch ref := item.Refs[p.Stream]; {
	case ref != "":
		return c.core.readStored(ctx, p, ref)
	case output && item.Status == editors.ItemInProgress:
		return c.core.readRunning(ctx, p)
	default:
		return readInline(p, item)
	}
}

// item finds an item, however old.
func (c *Core) item(ctx context.Context, sessionID, itemID string) (editors.Item, error) {
	v, err := c.view(ctx, sessionID, nil)
	if err != nil {
		return editors.Item{}, err
	}
	items, segment := v.Items, v.Sealed
	for {
		at := slices.IndexFunc(items, func(i editors.Item) bool { return i.ID == itemID })
		if at >= 0 {
			return items[at], nil
		}
		if segment == "" {
			return editors.Item{}, editors.Errorf(editors.CodeNotFound, "the session has no item %q", itemID)
		}
		s, err := c.segment(ctx, segment)
		if err != nil {
			return editors.Item{}, asError("looking for the item", err)
		}
		items, segment = s.Items, s.Prev
	}
}

func (c *Core) readStored(ctx context.Context, p editors.ReadOutputParams, ref string) (editors.ReadOutputResult, error) {
	store, err := c.blobs.open()
	if err != nil {
		return editors.ReadOutputResult{}, asError("reading the output", err)
	}
	r, err := blob.Open(ctx, store, blob.Ref(ref))
	if err != nil {
		return editors.ReadOutputResult{}, asError("reading the output", err)
	}
	offset := min(p.Offset, r.Size())
	data := make([]byte, min(int64(p.Limit), r.Size()-offset))
	if _, err := r.ReadAt(data, offset); err != nil && !errors.Is(err, io.EOF) {
		return editors.ReadOutputResult{}, asError("reading the output", err)
	}
	return outputRange(data, offset, r.Size()), nil
}

// readRunning asks the worker, which alone knows what a running command has printed.
func (c *Core) readRunning(ctx context.Context, p editors.ReadOutputParams) (editors.ReadOutputResult, error) {
	const what = "reading the output of a running command"
	var answer editors.ReadOutputResult
	if err := c.live.call(ctx, CallReadOutput, p, &answer); err != nil {
		return editors.ReadOutputResult{}, asError(what, err)
	}
	data := []byte(answer.Data)
	if answer.Encoding == encodingBase64 {
		var err error
		if data, err = base64.StdEncoding.DecodeString(answer.Data); err != nil {
			return editors.ReadOutputResult{}, asError(what, err)
		}
	}
	return outputRange(data, answer.Offset, answer.Total), nil
}

// readInline reads what the item has whole.
func readInline(p editors.ReadOutputParams, item editors.Item) (editors.ReadOutputResult, error) {
	text, whole := "", int64(0)
	switch p.Stream {
	case "text":
		text, whole = item.Text, item.TextBytes
	case "diff":
		text, whole = item.Diff, item.DiffBytes
	case "arguments":
		text = item.Arguments
	default:
		if item.Output != nil && item.Output.Stream == p.Stream {
			text, whole = item.Output.Head+item.Output.Tail, item.Output.TotalBytes
		}
	}
	if whole > int64(len(text)) {
		return editors.ReadOutputResult{}, editors.Errorf(editors.CodeNotFound, "the rest of this %s was not kept", p.Stream)
	}
	total := int64(len(text))
	offset := min(p.Offset, total)
	end := min(offset+int64(p.Limit), total)
	return outputRange([]byte(text[offset:end]), offset, total), nil
}

// outputRange makes data an answer. Text ends between runes, unless it is all that is left.
func outputRange(data []byte, offset, total int64) editors.ReadOutputResult {
	text, encoding, taken := encode(data)
	if taken == 0 && len(data) > 0 || offset+int64(len(data)) >= total && taken < len(data) {
		text, encoding, taken = encodeRaw(data), encodingBase64, len(data)
	}
	return editors.ReadOutputResult{Data: text, Encoding: encoding, Offset: offset, End: offset + int64(taken), Total: total}
}
