// This file keeps the text of the documents that are open in the editor, saved or not.

package lsp

import (
	"hash/maphash"
	"slices"
	"sync"

	"sandboxagent/editors"
)

// documentsBytes bounds the text of all open documents together.
const documentsBytes = 64 << 20

// document is one open document.
type document struct {
	URI        string
	LanguageID string
	Version    int
	Text       string

	saved   uint64   // hash of the text that is saved
	opened  bool     // saved is what the document was opened with, which has not been compared with the file
	file    fileText // as it was last read
	touched int      // orders documents by their last change
}

// change is one edit of a document; without a range its text replaces everything.
type change struct {
	Range *editors.Range `json:"range"`
	Text  string         `json:"text"`
}

// documents is the set of open documents. The zero value is not ready; use newDocuments.
type documents struct {
	mu    sync.Mutex
	seed  maphash.Seed
	open  map[string]*document
	bytes int
	most  int
	clock int
}

func newDocuments(most int) *documents {
	return &documents{seed: maphash.MakeSeed(), open: make(map[string]*document), most: most}
}

// Open adds a document, replacing one of the same URI.
func (d *documents) Open(uri, languageID string, version int, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(uri)
	doc := &document{URI: uri, LanguageID: languageID, Version: version, Text: text, saved: d.hash(text), opened: true}
	d.open[uri] = doc
	d.bytes += len(text)
	d.touch(doc)
}

// Change applies edits in order. It reports whether the document is open.
func (d *documents) Change(uri string, version int, changes []change) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.open[uri]
	if doc == nil {
		return false
	}
	text := doc.Text
	for _, c := range changes {
		if c.Range == nil {
			text = c.Text
			continue
		}
		text = splice(text, *c.Range, c.Text)
	}
	d.bytes += len(text) - len(doc.Text)
	doc.Text, doc.Version = text, version
	d.touch(doc)
	return true
}

// Save marks a document as saved, with the text that was saved if the client tells it.
func (d *documents) Save(uri string, text *string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.open[uri]
	if doc == nil {
		return
	}
	if text != nil {
		d.bytes += len(*text) - len(doc.Text)
		doc.Text = *text
	}
	doc.saved, doc.opened = d.hash(doc.Text), false
	d.touch(doc)
}

// Close forgets a document.
func (d *documents) Close(uri string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(uri)
}

// Get returns a copy of a document.
func (d *documents) Get(uri string) (document, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc := d.open[uri]; doc != nil {
		return *doc, true
	}
	return document{}, false
}

// Find returns a copy of the document of a file, however its URI is escaped.
func (d *documents) Find(uri string) (document, bool) {
	if doc, ok := d.Get(uri); ok {
		return doc, true
	}
	file, ok := filePath(uri)
	if !ok {
		return document{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, doc := range d.open {
		if other, ok := filePath(doc.URI); ok && other == file {
			return *doc, true
		}
	}
	return document{}, false
}

// Unsaved returns the documents with text that is not saved, latest change first: it differs from what was last saved, as
// far as the client has told, and from the file.
func (d *documents) Unsaved() []document {
	var unsaved []document
	for _, doc := range d.doubtful() {
		doc.file = d.fileText(doc.URI, doc.file)
		if d.settle(&doc) != doc.saved {
			unsaved = append(unsaved, doc)
		}
	}
	slices.SortFunc(unsaved, func(a, b document) int { return b.touched - a.touched })
	return unsaved
}

// doubtful returns copies of the documents that may be unsaved.
func (d *documents) doubtful() []document {
	d.mu.Lock()
	defer d.mu.Unlock()
	var docs []document
	for _, doc := range d.open {
		if doc.opened || d.hash(doc.Text) != doc.saved {
			docs = append(docs, *doc)
		}
	}
	return docs
}

// settle corrects what is saved of a document by its file, and keeps that unless the document has changed meanwhile. It
// returns the hash of its text.
func (d *documents) settle(doc *document) (sum uint64) {
	sum = d.hash(doc.Text)
	switch {
	case doc.file.shows(d, doc.Text):
		doc.saved = sum
	case doc.opened && doc.saved == sum && doc.file.belies(d, doc.Text):
		doc.saved = doc.file.exact
	}
	doc.opened = false
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.open[doc.URI]; now != nil && now.touched == doc.touched {
		*now = *doc
	}
	return sum
}

func (d *documents) hash(text string) uint64 { return maphash.String(d.seed, text) }

func (d *documents) remove(uri string) {
	if doc := d.open[uri]; doc != nil {
		d.bytes -= len(doc.Text)
		delete(d.open, uri)
	}
}

// touch notes a change and, when there is too much text, forgets the documents that have rested longest.
func (d *documents) touch(doc *document) {
	d.clock++
	doc.touched = d.clock
	for d.bytes > d.most {
		oldest := doc
		for _, other := range d.open {
			if other.touched < oldest.touched {
				oldest = other
			}
		}
		d.remove(oldest.URI)
	}
}
