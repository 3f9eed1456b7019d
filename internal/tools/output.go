// This file reads what a command printed: its ends for the model and the person, the whole for the store.

package tools

import (
	"context"
	"regexp"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/sandbox"
)

const readSize = 1 << 20

// captured is one stream of a command, from some offset on. If the tail is not empty, bytes between head and tail are missing.
type captured struct {
	stream     sandbox.Stream
	from       int64
	total      int64 // bytes from there on, dropped ones included
	head, tail []byte
}

// capture reads the ends of a stream between two offsets.
func (f *follower) capture(ctx context.Context, stream sandbox.Stream, from, to int64) (captured, error) {
	c := captured{stream: stream, from: from, total: max(to-from, 0)}
	n := c.total
	if n > MaxModelBytes {
		n = MaxModelBytes / 2
	}
	var err error
	if c.head, err = f.read(ctx, stream, from, n); err != nil || n == c.total {
		return c, err
	}
	c.tail, err = f.read(ctx, stream, to-n, n)
	return c, err
}

// read reads n bytes of a stream, fewer where some were dropped.
func (f *follower) read(ctx context.Context, stream sandbox.Stream, from, n int64) ([]byte, error) {
	var data []byte
	for end := from + n; from < end; {
		chunk, err := f.env.Sandbox.Output(ctx, f.id, stream, from, int(min(end-from, readSize)))
		if err != nil {
			return nil, err
		}
		if len(chunk.Data) == 0 || chunk.Offset >= end {
			break
		}
		data = append(data, chunk.Data[:min(int64(len(chunk.Data)), end-chunk.Offset)]...)
		from = chunk.Offset + int64(len(chunk.Data))
	}
	return data, nil
}

// keep stores the stream, with notes in place of what was dropped, and returns where.
func (f *follower) keep(ctx context.Context, c captured) (blob.Ref, error) {
	w := blob.NewWriter(ctx, f.env.Blobs)
	at, end := c.from, c.from+c.total
	for at < end && w.Size() < MaxKeptOutput {
		chunk, err := f.env.Sandbox.Output(ctx, f.id, c.stream, at, readSize)
		if err != nil {
			return "", err
		}
		if chunk.Offset > at {
			if _, err := w.Write(skipped(chunk.Offset - at)); err != nil {
				return "", err
			}
		}
		if len(chunk.Data) == 0 {
			break
		}
		if _, err := w.Write(chunk.Data[:min(int64(len(chunk.Data)), max(end-chunk.Offset, 0))]); err != nil {
			return "", err
		}
		at = chunk.Offset + int64(len(chunk.Data))
	}
	if at < end {
		if _, err := w.Write(skipped(end - at)); err != nil {
			return "", err
		}
	}
	return w.Close()
}

// preview is what a person sees of the stream at first, and whether that is all of it.
func (c captured) preview() (out editors.Output, whole bool) {
	out = editors.Output{TotalBytes: c.total, Stream: string(c.stream)}
	text := string(c.head)
	if len(c.tail) == 0 && int64(len(c.head)) == c.total && len(text) <= 2*MaxPreviewBytes {
		out.Head = valid(text)
		return out, out.Head == text
	}
	end := text
	if len(c.tail) > 0 {
		end = string(c.tail)
	}
	out.Head = Head(valid(Head(text, MaxPreviewBytes)), MaxPreviewBytes)
	out.Tail = Tail(valid(Tail(end, MaxPreviewBytes)), MaxPreviewBytes)
	return out, false
}

// forModel is the stream in at most n bytes: its head and tail where it is longer. cut says whether something is missing.
func (c captured) forModel(n int, tty bool) (text string, cut bool) {
	head, tail := valid(string(c.head)), valid(string(c.tail))
	if tty {
		head, tail = plain(head), plain(tail)
	}
	if tail == "" && len(head) <= n {
		return head, int64(len(c.head)) < c.total
	}
	if tail == "" {
		tail = head
	}
	const note = 64 // bytes, at most, that the note takes
	half := max(n-note, 0) / 2
	head, tail = Head(head, half), Tail(tail, half)
	left := max(c.total-int64(len(head)+len(tail)), 0)
	return strings.TrimSuffix(head, "\n") + string(skipped(left)) + tail, true
}

// size is how many bytes the whole stream would take as text.
func (c captured) size() int64 { return max(c.total, int64(len(valid(string(c.head))))) }

var controlSequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>@-Z\\-_]`)

// plain takes out of a terminal's output what only a terminal understands: control sequences and overwritten lines.
func plain(text string) string {
	lines := strings.Split(controlSequence.ReplaceAllString(text, ""), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}
