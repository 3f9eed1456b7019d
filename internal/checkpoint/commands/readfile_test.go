package commands

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func (d *desk) readFile(p editors.ReadFileParams) editors.ReadFileResult {
	d.t.Helper()
	r, err := d.s.ReadFile(context.Background(), p)
	require.NoError(d.t, err)
	return r
}

func TestAFileIsReadAsItWasAndAsItIs(t *testing.T) {
	d := newDesk(t, "s1")
	d.write("d/f", "before")
	d.write("empty", "")
	require.NoError(t, os.Symlink("d/f", filepath.Join(d.dir, "link")))
	id := d.turn()
	d.write("d/f", "after")

	require.Equal(t, editors.ReadFileResult{Data: "before", Encoding: "utf8", End: 6, Total: 6},
		d.readFile(editors.ReadFileParams{CheckpointID: id[:12], Path: "d/f"}))
	require.Equal(t, editors.ReadFileResult{Data: "after", Encoding: "utf8", End: 5, Total: 5}, d.readFile(editors.ReadFileParams{Path: "./d/f"}))
	require.Equal(t, editors.ReadFileResult{Data: "for", Encoding: "utf8", Offset: 2, End: 5, Total: 6},
		d.readFile(editors.ReadFileParams{CheckpointID: id, Path: "d/f", Offset: 2, Limit: 3}))
	require.Equal(t, editors.ReadFileResult{Encoding: "utf8", Offset: 6, End: 6, Total: 6},
		d.readFile(editors.ReadFileParams{CheckpointID: id, Path: "d/f", Offset: 99}))
	require.Equal(t, editors.ReadFileResult{Encoding: "utf8"}, d.readFile(editors.ReadFileParams{CheckpointID: id, Path: "empty"}))
	require.Equal(t, editors.ReadFileResult{Data: "d/f", Encoding: "utf8", End: 3, Total: 3, Link: true},
		d.readFile(editors.ReadFileParams{CheckpointID: id, Path: "link"}))
}

func TestALargeFileIsReadInRanges(t *testing.T) {
	d := newDesk(t, "s1")
	content := bytes.Repeat([]byte{0, 1, 2, 0xff, '\n'}, 2<<20)
	d.write("large", string(content))
	id := d.turn()
	var got []byte
	for {
		r := d.readFile(editors.ReadFileParams{CheckpointID: id, Path: "large", Offset: int64(len(got))})
		require.Equal(t, "base64", r.Encoding)
		require.LessOrEqual(t, int(r.End-r.Offset), editors.MaxOutputRead)
		data, err := base64.StdEncoding.DecodeString(r.Data)
		require.NoError(t, err)
		got = append(got, data...)
		require.Equal(t, int64(len(got)), r.End)
		if r.End == r.Total {
			break
		}
	}
	require.True(t, bytes.Equal(content, got), "what was read is not what was written")
}

// Control characters grow sixfold in JSON.
func TestTextThatGrowsInJSONFitsIntoAMessage(t *testing.T) {
	d := newDesk(t, "s1")
	d.write("f", string(bytes.Repeat([]byte{1}, editors.MaxOutputRead)))
	r := d.readFile(editors.ReadFileParams{CheckpointID: d.turn(), Path: "f"})
	require.Equal(t, "base64", r.Encoding)
	require.Less(t, size(r), editors.MaxMessageBytes)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	d := newDesk(t, "s1")
	d.write("d/f", "x")
	id := d.turn()
	for name, tt := range map[string]struct {
		params editors.ReadFileParams
		code   editors.Code
	}{
		"no such file":       {editors.ReadFileParams{CheckpointID: id, Path: "d/g"}, editors.CodeNotFound},
		"below a file":       {editors.ReadFileParams{CheckpointID: id, Path: "d/f/g"}, editors.CodeNotFound},
		"a folder":           {editors.ReadFileParams{CheckpointID: id, Path: "d"}, editors.CodeInvalidParams},
		"outside":            {editors.ReadFileParams{CheckpointID: id, Path: "../f"}, editors.CodeInvalidParams},
		"absolute":           {editors.ReadFileParams{CheckpointID: id, Path: "/etc/passwd"}, editors.CodeInvalidParams},
		"no path":            {editors.ReadFileParams{CheckpointID: id}, editors.CodeInvalidParams},
		"negative offset":    {editors.ReadFileParams{CheckpointID: id, Path: "d/f", Offset: -1}, editors.CodeInvalidParams},
		"no such checkpoint": {editors.ReadFileParams{CheckpointID: "0123456789abcdef", Path: "d/f"}, editors.CodeNotFound},
	} {
		_, err := d.s.ReadFile(context.Background(), tt.params)
		require.Equal(t, tt.code, editors.CodeOf(err), "%s: %v", name, err)
	}
}
