// This file makes a note part of a command's output, where the command ended: what it left running may still print after.

package local

import (
	"context"

	"sandboxagent/internal/helper/client"
	"sandboxagent/internal/sandbox"
)

// inner returns where in the command's own output an offset lies.
func (n *note) inner(offset int64) int64 {
	if n == nil || offset <= n.At {
		return offset
	}
	return max(n.At, offset-int64(len(n.Text)))
}

// innerOffsets does so for both streams.
func (n *note) innerOffsets(o sandbox.Offsets) sandbox.Offsets {
	switch {
	case n == nil:
	case n.Stream == sandbox.Stdout:
		o.Stdout = n.inner(o.Stdout)
	default:
		o.Stderr = n.inner(o.Stderr)
	}
	return o
}

// status counts the note with the output.
func (n *note) status(st sandbox.Status) sandbox.Status {
	switch {
	case n == nil:
	case n.Stream == sandbox.Stdout:
		st.Total.Stdout += int64(len(n.Text))
	default:
		st.Total.Stderr += int64(len(n.Text))
	}
	return st
}

// output reads a range of the stream that the note is in.
func (n *note) output(ctx context.Context, c *client.Client, id string, offset int64, size int) (sandbox.Chunk, error) {
	length := int64(len(n.Text))
	ask := size
	switch {
	case offset < n.At:
		ask = int(min(int64(size), n.At-offset))
	case offset < n.At+length:
		ask = 0
	}
	chunk, err := c.Output(ctx, id, n.Stream, n.inner(offset), ask)
	if err != nil {
		return chunk, err
	}
	last := chunk.EOF && chunk.Total == n.At // nothing came after the note
	chunk.Total += length
	switch {
	case chunk.Offset < n.At:
		chunk.EOF = false
	case offset < n.At+length: // in it, or before it where what was there is dropped
		from := max(offset, n.At)
		text := n.Text[from-n.At:]
		text = text[:min(len(text), max(size, 0))]
		chunk.Data, chunk.Offset, chunk.EOF = []byte(text), from, last && from+int64(len(text)) == n.At+length
	default:
		chunk.Offset += length
	}
	return chunk, nil
}
