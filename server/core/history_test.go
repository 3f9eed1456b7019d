// This file tests walking back through a session and reading what previews left out.

package core

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/feed"
)

// sealed puts items numbered from first to last into segments of n and returns the newest segment.
func sealed(t *testing.T, store blob.Store, first, last, n int) string {
	t.Helper()
	prev := ""
	for at := first; at <= last; at += n {
		segment := agent.Segment{Prev: prev}
		for i := at; i < min(at+n, last+1); i++ {
			segment.Items = append(segment.Items, numbered(i))
		}
		ref, err := blob.PutJSON(t.Context(), store, segment)
		require.NoError(t, err)
		prev = string(ref)
	}
	return prev
}

func numbered(i int) editors.Item {
	return editors.Item{ID: fmt.Sprintf("i%d", i), Seq: int64(2 * i), Kind: editors.Notice, Status: editors.ItemCompleted}
}

func TestHistoryGoesBackToTheBeginning(t *testing.T) {
	for _, limit := range []int{1, 3, 7, 10, 25, 200} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			f := newFakeEngine()
			core := testCore(t, f)
			conn := testConn(t, core)
			store, err := core.blobs.open()
			require.NoError(t, err)
			s := f.add("s1", core.HostID())
			s.sealed = sealed(t, store, 1, 47, 10)
			for i := 48; i <= 60; i++ {
				s.items = append(s.items, numbered(i))
			}
			var ids []string
			before := ""
			for page := 0; ; page++ {
				if page == 2 { // meanwhile the session seals what it held
					s.sealed, s.items = sealed(t, store, 1, 57, 10), s.items[10:]
				}
				result, err := run[editors.HistoryResult](t, conn, "history", editors.HistoryParams{SessionID: "s1", Before: before, Limit: limit})
				require.NoError(t, err)
				require.LessOrEqual(t, len(result.Items), limit)
				for i := len(result.Items) - 1; i >= 0; i-- {
					ids = append(ids, result.Items[i].ID)
				}
				if before = result.Before; before == "" {
					break
				}
			}
			require.Len(t, ids, 60)
			for i, id := range ids {
				require.Equal(t, fmt.Sprintf("i%d", 60-i), id)
			}
		})
	}
}

func TestHistoryRefusesForeignCursors(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	f.add("s1", core.HostID())
	for _, cursor := range []string{
		"nonsense", base64.RawURLEncoding.EncodeToString([]byte("{")),
		historyCursor{Session: "s2", Seq: 5}.String(), historyCursor{Session: "s1"}.String(),
		historyCursor{Session: "s1", Seq: 5, Segment: "../../etc/passwd"}.String(),
	} {
		_, err := run[editors.HistoryResult](t, testConn(t, core), "history", editors.HistoryParams{SessionID: "s1", Before: cursor})
		require.Equal(t, editors.CodeInvalidParams, editors.CodeOf(err), cursor)
	}
	lost := historyCursor{Session: "s1", Seq: 5, Segment: string(blob.Sum([]byte("lost")))}.String()
	_, err := run[editors.HistoryResult](t, testConn(t, core), "history", editors.HistoryParams{SessionID: "s1", Before: lost})
	require.Equal(t, editors.CodeNotFound, editors.CodeOf(err))
}

func TestSnapshotsLeadIntoHistory(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	store, err := core.blobs.open()
	require.NoError(t, err)
	s := f.add("s1", core.HostID())
	s.sealed = sealed(t, store, 1, 5, 10)
	s.items = []editors.Item{numbered(6)}
	snapshot, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Len(t, snapshot.Items, 1)
	result, err := run[editors.HistoryResult](t, conn, "history", editors.HistoryParams{SessionID: "s1", Before: snapshot.Before})
	require.NoError(t, err)
	require.Len(t, result.Items, 5)
	require.Empty(t, result.Before)
}

func TestCutTextsAreMadeWhole(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	store, err := core.blobs.open()
	require.NoError(t, err)
	long := strings.Repeat("long text ", 2000)
	ref, err := blob.PutAll(t.Context(), store, []byte(long))
	require.NoError(t, err)
	s := f.add("s1", core.HostID())
	cutItem := editors.Item{ID: "a", Text: long[:100], TextBytes: int64(len(long)), Refs: map[string]string{"text": string(ref)}}
	s.items = []editors.Item{cutItem, {ID: "b", Text: "gone", TextBytes: 99, Refs: map[string]string{"text": string(blob.Sum(nil))}}}
	rec := newRecorder()
	conn := core.Connect("test", rec.sink)
	snapshot, err := run[editors.AttachResult](t, conn, "attach", editors.AttachParams{SessionID: "s1"})
	require.NoError(t, err)
	require.Equal(t, long, snapshot.Items[0].Text)
	require.Equal(t, "gone", snapshot.Items[1].Text)
	seq := s.complete("a")
	core.ring("s1", seq)
	events := rec.until(t, "the item", hasSeq(seq))
	require.Equal(t, long, events[0].Event.Item.Text)
}

func TestReadOutput(t *testing.T) {
	f := newFakeEngine()
	core := testCore(t, f)
	conn := testConn(t, core)
	store, err := core.blobs.open()
	require.NoError(t, err)
	text := strings.Repeat("wörld ", 100)
	stored, err := blob.PutAll(t.Context(), store, []byte(text))
	require.NoError(t, err)
	binary, err := blob.PutAll(t.Context(), store, []byte{0, 255, 254, 1})
	require.NoError(t, err)
	s := f.add("s1", core.HostID())
	s.items = []editors.Item{
		{ID: "done", Kind: editors.ToolCall, Status: editors.ItemCompleted, Arguments: `{"a":1}`, Refs: map[string]string{"stdout": string(stored), "stderr": string(binary)}},
		{ID: "runs", Kind: editors.ToolCall, Status: editors.ItemInProgress},
		{ID: "lost", Kind: editors.ToolCall, Status: editors.ItemCompleted, Output: &editors.Output{Head: "x", TotalBytes: 99, Stream: "stdout"}},
	}
	read := func(item, stream string, offset int64, limit int) (editors.ReadOutputResult, error) {
		return run[editors.ReadOutputResult](t, conn, "readOutput", editors.ReadOutputParams{SessionID: "s1", ItemID: item, Stream: stream, Offset: offset, Limit: limit})
	}
	got := ""
	for at := int64(0); at < int64(len(text)); {
		r, err := read("done", "stdout", at, 5)
		require.NoError(t, err)
		require.Equal(t, encodingUTF8, r.Encoding)
		require.Equal(t, at, r.Offset)
		require.Equal(t, int64(len(text)), r.Total)
		got, at = got+r.Data, r.End
	}
	require.Equal(t, text, got)
	r, err := read("done", "stderr", 0, 0)
	require.NoError(t, err)
	require.Equal(t, encodingBase64, r.Encoding)
	require.Equal(t, "AP/+AQ==", r.Data)
	r, err = read("done", "stdout", 1_000_000, 5)
	require.NoError(t, err)
	require.Empty(t, r.Data)
	require.Equal(t, r.Total, r.End)
	r, err = read("done", "arguments", 1, 3)
	require.NoError(t, err)
	require.Equal(t, `"a"`, r.Data)

	_, err = read("runs", "stdout", 0, 0)
	require.Equal(t, editors.CodeWorkerUnavailable, editors.CodeOf(err))
	hub, err := feed.Listen(core.opts.Paths.WorkerSocket, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	hub.Handle(CallReadOutput, func(context.Context, editors.Raw) (any, error) {
		data := base64.StdEncoding.EncodeToString([]byte("so far w\xc3"))
		return editors.ReadOutputResult{Data: data, Encoding: encodingBase64, Offset: 3, End: 12, Total: 40}, nil
	})
	require.NoError(t, core.live.feed().WaitConnected(t.Context()))
	r, err = read("runs", "stdout", 3, 0)
	require.NoError(t, err)
	require.Equal(t, editors.ReadOutputResult{Data: "so far w", Encoding: encodingUTF8, Offset: 3, End: 11, Total: 40}, r)

	for _, bad := range []struct {
		item, stream string
		offset       int64
		code         editors.Code
	}{
		{"done", "stdin", 0, editors.CodeInvalidParams},
		{"done", "stdout", -1, editors.CodeInvalidParams},
		{"none", "stdout", 0, editors.CodeNotFound},
		{"lost", "stdout", 0, editors.CodeNotFound},
	} {
		_, err := read(bad.item, bad.stream, bad.offset, 0)
		require.Equal(t, bad.code, editors.CodeOf(err), bad)
	}
}
