// This file tests the client against a helper that lies about a tree.

package client

import (
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/checkpoint/worktree"
	"sandboxagent/internal/helper/wire"
	"sandboxagent/internal/sandbox"
)

// shelf is a store of objects in memory.
type shelf struct {
	has     map[tree.Hash]bool
	put     map[tree.Hash][]byte
	picture *worktree.Picture
}

func (s *shelf) Known(id string) bool { return id == "known" }
func (s *shelf) Has(h tree.Hash) bool { return s.has[h] }
func (s *shelf) Put(h tree.Hash, b []byte) error {
	s.put[h] = append([]byte(nil), b...)
	return nil
}

func (s *shelf) Commit(p worktree.Picture) (string, error) {
	s.picture = &p
	return "made", nil
}

// event is what a scripted helper answers to one call, and what it expects of the call.
type event struct {
	result string
	body   []byte
	expect func(t *testing.T, a wire.ScanNextArgs)
}

func offered(objects ...[]byte) (b []byte) {
	for _, o := range objects {
		h := tree.Sum(o)
		b = binary.BigEndian.AppendUint32(append(b, h[:]...), uint32(len(o)))
	}
	return b
}

func scanAgainst(t *testing.T, s *shelf, events ...event) error {
	t.Helper()
	c := against(t, polite(func(req wire.Request) *wire.Message {
		reply := &wire.Message{Kind: wire.KindReply, Header: []byte(`{}`)}
		if req.Op != wire.OpScanNext {
			return reply
		}
		if len(events) == 0 {
			t.Error("asked for more than there is")
			return nil
		}
		ev := events[0]
		events = events[1:]
		if ev.expect != nil {
			var a wire.ScanNextArgs
			if err := json.Unmarshal(req.Args, &a); err != nil {
				t.Error(err)
			}
			ev.expect(t, a)
		}
		reply.Header, reply.Body = []byte(`{"result":`+ev.result+`}`), ev.body
		return reply
	}))
	return c.Scan(t.Context(), worktree.ScanOptions{Limits: worktree.Limits{Bytes: 1}}, s)
}

func newShelf(has ...[]byte) *shelf {
	s := &shelf{has: map[tree.Hash]bool{}, put: map[tree.Hash][]byte{}}
	for _, o := range has {
		s.has[tree.Sum(o)] = true
	}
	return s
}

func TestOnlyWhatIsMissingTravels(t *testing.T) {
	a, b, c := []byte("a"), []byte("bb"), []byte("ccc")
	s := newShelf(b)
	notes := []tree.Note{{Path: "pipe", Reason: tree.Pipe}}
	err := scanAgainst(
		t, s,
		event{result: `{"base":"known"}`},
		event{result: `{"offers":3}`, body: offered(a, b, c), expect: func(t *testing.T, a wire.ScanNextArgs) { require.True(t, a.Known) }},
		event{
			result: `{"picture":{"root":"` + tree.Empty.String() + `","files":3}}`, body: append([]byte("accc"), tree.EncodeNotes(notes)...),
			expect: func(t *testing.T, a wire.ScanNextArgs) { require.Equal(t, []byte{0b101}, a.Want) },
		},
		event{result: `{"done":true}`, expect: func(t *testing.T, a wire.ScanNextArgs) { require.Equal(t, "made", a.Checkpoint) }},
	)
	require.NoError(t, err)
	require.Equal(t, map[tree.Hash][]byte{tree.Sum(a): a, tree.Sum(c): c}, s.put)
	require.Equal(t, &worktree.Picture{Root: tree.Empty, Notes: notes, Files: 3}, s.picture)
}

func TestLiesAboutATree(t *testing.T) {
	huge := make([]byte, wire.OfferSize)
	binary.BigEndian.PutUint32(huge[32:], tree.MaxObject+1)
	big := make([]byte, wire.OfferSize)
	binary.BigEndian.PutUint32(big[32:], tree.MaxObject)
	many := []event{}
	for i := range 20 {
		b := append([]byte(nil), big...)
		b[0] = byte(i)
		many = append(many, event{result: `{"offers":1}`, body: b})
	}
	for name, tt := range map[string]struct {
		class  sandbox.Class
		events []event
	}{
		"an object that is another": {sandbox.ClassCorrupt, []event{{result: `{"offers":1}`, body: offered([]byte("a"))}, {result: `{"done":true}`, body: []byte("b")}}},
		"an object cut short":       {sandbox.ClassCorrupt, []event{{result: `{"offers":1}`, body: offered([]byte("aa"))}, {result: `{"done":true}`, body: []byte("a")}}},
		"a huge object":             {sandbox.ClassCorrupt, []event{{result: `{"offers":1}`, body: huge}}},
		"more offers than bytes":    {sandbox.ClassCorrupt, []event{{result: `{"offers":2}`, body: offered([]byte("a"))}}},
		"nothing at all":            {sandbox.ClassCorrupt, []event{{result: `{}`}}},
		"too many offers":           {sandbox.ClassCorrupt, []event{{result: `{"offers":1000000}`}}},
		"no root":                   {sandbox.ClassCorrupt, []event{{result: `{"picture":{"root":"../x"}}`}}},
		"notes of another kind":     {sandbox.ClassCorrupt, []event{{result: `{"picture":{"root":"` + tree.Empty.String() + `"}}`, body: []byte("xx")}}},
		"negative counts":           {sandbox.ClassCorrupt, []event{{result: `{"picture":{"root":"` + tree.Empty.String() + `","files":-1}}`}}},
		"more than the limit":       {sandbox.ClassCorrupt, many}, // of which it delivers nothing
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf()
			err := scanAgainst(t, s, tt.events...)
			require.Equal(t, tt.class, sandbox.ClassOf(err), "%v", err)
			require.Nil(t, s.picture)
			require.Empty(t, s.put)
		})
	}
}
