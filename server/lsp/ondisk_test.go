// This file tests that documents are compared with their files.

package lsp

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/patch"
)

// aged writes a file that is too old to change once more unnoticed.
func aged(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(name, old, old))
}

func TestADocumentReadAgainFromTheDiskIsSaved(t *testing.T) {
	for name, c := range map[string]struct {
		file, shown string
		saved       bool
	}{
		"the same":                 {"b\n", "b\n", true},
		"something else":           {"b\n", "c\n", false},
		"as much, something else":  {"abc", "abd", false},
		"with a mark":              {"\uFEFFb\n", "b\n", true},
		"Latin 1":                  {"b\xe4\n", "bä\n", true},
		"Latin 1, something else":  {"b\xe4\n", "bö\n", false},
		"UTF-16":                   {"\xff\xfeb\x00\xe4\x00", "bä", true},
		"UTF-16, the other order":  {"\xfe\xff\x00b\x00\xe4", "bä", true},
		"half a unit of UTF-16":    {"\xff\xfeb", "b", false},
		"CRLF":                     {"a\r\nb\r\n", "a\r\nb\r\n", true},
		"other line ends":          {"a\nb\n", "a\r\nb\r\n", false},
		"mixed line ends made one": {"a\nb\r\n", "a\nb\n", true},
		"mixed, something else":    {"a\nb\r\n", "a\nc\n", false},
		"another last line end":    {"b", "b\n", false},
		"nothing":                  {"", "", true},
		"no text":                  {"\x00", "\x00", false},
	} {
		file := filepath.Join(t.TempDir(), "a")
		aged(t, file, "a\n")
		docs := newDocuments(documentsBytes)
		docs.Open("file://"+file, "go", 1, "a\n")
		require.Empty(t, docs.Unsaved(), name)
		aged(t, file, c.file)
		require.True(t, docs.Change("file://"+file, 2, []change{{Text: c.shown}}))
		require.Equal(t, c.saved, len(docs.Unsaved()) == 0, name)

		aged(t, file, "the agent goes on")
		require.Equal(t, c.saved, len(docs.Unsaved()) == 0, "%s: it stays what it was until the editor reads that", name)
	}
}

func TestADocumentOpenedWithUnsavedTextIsUnsaved(t *testing.T) {
	for name, c := range map[string]struct {
		file, shown string
		saved       bool
	}{
		"typed":                      {"disk\n", "typed\n", false},
		"the same":                   {"disk\n", "disk\n", true},
		"shown with other line ends": {"a\rb\r\n", "a\nb\n", true},
		"shown with a last line end": {"disk", "disk\n", true},
		"of an unknown encoding":     {"\x83\x65\x83\x58\x83\x67", "テスト", true},
		"no text":                    {"a\x00", "a", true},
	} {
		file := filepath.Join(t.TempDir(), "a b")
		aged(t, file, c.file)
		docs := newDocuments(documentsBytes)
		docs.Open("file://"+filepath.Dir(file)+"/a%20b", "go", 1, c.shown)
		require.Equal(t, c.saved, len(docs.Unsaved()) == 0, name)
		require.Equal(t, c.saved, len(docs.Unsaved()) == 0, "%s, looked at twice", name)
	}
	docs, folder := newDocuments(documentsBytes), "file://"+t.TempDir()
	docs.Open(folder+"/new", "go", 1, "\n")
	docs.Open(folder+"/gone", "go", 1, "text")
	docs.Open(folder, "go", 1, "text")
	docs.Open("untitled:1", "go", 1, "text")
	unsaved := docs.Unsaved()
	require.Len(t, unsaved, 1)
	require.Equal(t, folder+"/gone", unsaved[0].URI)
	require.True(t, docs.Change(folder+"/gone", 2, []change{{Text: ""}}))
	require.Empty(t, docs.Unsaved())
}

func TestAFileIsReadOnceAChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	aged(t, file, "a")
	docs := newDocuments(documentsBytes)
	uri := "file://" + file
	read := docs.fileText(uri, fileText{})
	require.NotNil(t, read.info)
	read.exact++ // as no reading would have it
	require.Equal(t, read.exact, docs.fileText(uri, read).exact)
	aged(t, file, "ab")
	require.NotEqual(t, read.exact, docs.fileText(uri, read).exact)
	require.NoError(t, os.WriteFile(file, []byte("young"), 0o600))
	require.Nil(t, docs.fileText(uri, read).info, "it may change again within the same tick")
	require.NoError(t, os.Truncate(file, patch.MaxFileBytes+1))
	require.False(t, docs.fileText(uri, read).known)
}
