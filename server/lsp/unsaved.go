// This file sees to it that text that stands unsaved in the editor counts: it goes with a question, and nothing is written
// under it.

package lsp

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"sandboxagent/editors"
)

// unsavedBytes bounds the unsaved text that goes with a question.
const unsavedBytes = 256 << 10

// withUnsaved adds the unsaved documents of the folders to the params of an ask. Params that are no object, or have
// something else than an array as context, are returned as they are: their error is for the command to find.
func withUnsaved(raw json.RawMessage, docs []document, folders []string) (json.RawMessage, error) {
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
	added := unsavedItems(docs, folders, filesOf(given))
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

func unsavedItems(docs []document, folders []string, given map[string]bool) []editors.Context {
	var items []editors.Context
	left := unsavedBytes
	for _, doc := range docs {
		if given[doc.URI] || len(doc.Text) > left || !insideAny(doc.URI, folders) {
			continue
		}
		left -= len(doc.Text)
		items = append(items, editors.Context{Kind: "file", URI: doc.URI, Text: doc.Text, Unsaved: true})
	}
	return items
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
