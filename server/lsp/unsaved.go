// This file sees to it that text that stands unsaved in the editor counts: it goes with a question, and nothing is written
// under it.

package lsp

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/patch"
)

// What of the unsaved text goes with a question.
const (
	unsavedBytes = 256 << 10 // of all texts
	maxUnsaved   = 200       // documents
)

// withUnsaved adds the unsaved documents of the folders to the params of an ask. Params that are no object, or have
// something else than an array as context, are returned as they are: their error is for the command to find.
func withUnsaved(raw json.RawMessage, docs []document, folders []string, holder string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if len(docs) == 0 || json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw, nil
	}
	var given []json.RawMessage
	if c := fields["context"]; c != nil && json.Unmarshal(c, &given) != nil {
		return raw, nil
	}
	if f := ""; json.Unmarshal(fields["workspaceFolder"], &f) == nil && f != "" {
		folders = []string{f}
	}
	added := unsavedItems(docs, folders, filesOf(given), holder)
	if len(added) == 0 {
		return raw, nil
	}
	for _, item := range added {
		encoded, err := json.Marshal(item)
		if err != nil {
			return nil, fmt.Errorf("adding unsaved text: %w", err)
		}
		given = append(given, encoded)
	}
	var err error
	if fields["context"], err = json.Marshal(given); err != nil {
		return nil, fmt.Errorf("adding unsaved text: %w", err)
	}
	return json.Marshal(fields)
}

// filesOfDocuments returns the paths of the documents that are files.
func filesOfDocuments(docs []document) []string {
	var files []string
	for _, doc := range docs {
		if file, ok := filePath(doc.URI); ok {
			files = append(files, file)
		}
	}
	return files
}

// filesOf names the files whose whole text the client has given itself.
func filesOf(items []json.RawMessage) map[string]bool {
	files := make(map[string]bool)
	for _, raw := range items {
		var item editors.Context
		if json.Unmarshal(raw, &item) == nil && item.Kind == "file" && item.Text != "" {
			files[item.URI] = true
		}
	}
	return files
}

// unsavedItems are the documents that the client has not given itself. Of what is too large only the name goes along.
func unsavedItems(docs []document, folders []string, given map[string]bool, holder string) []editors.Context {
	var items []editors.Context
	left := unsavedBytes
	for _, doc := range docs {
		if given[doc.URI] || !insideAny(doc.URI, folders) || len(items) == maxUnsaved {
			continue
		}
		item := editors.Context{Kind: "file", URI: doc.URI, Unsaved: true}
		if item.Omitted = len(doc.Text) > left; !item.Omitted {
			left -= len(doc.Text)
			item.Text, item.Base, item.Holder = doc.Text, baseOf(doc.URI), holder
		}
		items = append(items, item)
	}
	return items
}

// baseOf names the file that a document is a change of; "" when there is none that could be edited.
func baseOf(uri string) string {
	name, ok := filePath(uri)
	if !ok {
		return ""
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > patch.MaxFileBytes {
		return ""
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return patch.TextSum(data)
}

func insideAny(uri string, folders []string) bool {
	for _, folder := range folders {
		if inside(uri, folder) {
			return true
		}
	}
	return false
}

// inside reports whether a file URI is below a folder URI, however the two are escaped.
func inside(uri, folder string) bool {
	file, ok := filePath(uri)
	if !ok {
		return false
	}
	dir, ok := filePath(folder)
	if !ok {
		return false
	}
	return dir == "/" || strings.HasPrefix(file, dir+"/")
}

// filePath returns the cleaned path of a file URI.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", false
	}
	return path.Clean(u.Path), true
}
