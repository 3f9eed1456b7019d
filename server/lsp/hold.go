// This file keeps the connection informed which files the editor shows with unsaved changes.

package lsp

import "slices"

// documentsChanged says that a document was opened, changed, saved or closed.
func (c *client) documentsChanged() {
	select {
	case c.changes <- struct{}{}:
	default: // it is about to be looked at anyway
	}
}

// watchUnsaved looks, beside the reader, at what is unsaved after each change and tells it when it is something else.
func (c *client) watchUnsaved() {
	var told []string
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.changes:
		}
		files := filesOfDocuments(c.documents.Unsaved())
		slices.Sort(files)
		if !slices.Equal(files, told) {
			c.conn.SetUnsaved(files, c.serveBuffers())
			told = files
		}
	}
}
