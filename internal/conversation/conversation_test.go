package conversation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/blob"
	"sandboxagent/internal/model"
)

func TestAppendThenLoadGivesEverythingInOrder(t *testing.T) {
	store := blob.NewMem()
	head, err := Append(t.Context(), store, "", nil)
	require.NoError(t, err)
	require.Empty(t, head)
	heads := []blob.Ref{""}
	for i := range 300 {
		head, err = Append(t.Context(), store, head, []model.Entry{
			{Kind: model.KindUser, Text: fmt.Sprint("question ", i)},
			{Kind: model.KindAssistant, Text: fmt.Sprint("answer ", i)},
		})
		require.NoError(t, err)
		heads = append(heads, head)
	}
	for _, n := range []int{0, 1, 63, 64, 65, 66, 200, 300} {
		got, err := Load(t.Context(), store, heads[n])
		require.NoError(t, err)
		require.Len(t, got, 2*n, "every earlier head stays valid")
		if n > 0 {
			require.Equal(t, "question 0", got[0].Text)
			require.Equal(t, fmt.Sprint("answer ", n-1), got[2*n-1].Text)
		}
	}
}

func TestAppendIsIdempotent(t *testing.T) {
	store := blob.NewMem()
	entries := []model.Entry{{Kind: model.KindUser, Text: "hello"}}
	a, err := Append(t.Context(), store, "", entries)
	require.NoError(t, err)
	b, err := Append(t.Context(), store, "", entries)
	require.NoError(t, err)
	require.Equal(t, a, b)
}

func TestLoadReadsFewObjects(t *testing.T) {
	store := blob.NewMem()
	var head blob.Ref
	for i := range 1000 {
		var err error
		head, err = Append(t.Context(), store, head, []model.Entry{{Kind: model.KindUser, Text: fmt.Sprint(i)}})
		require.NoError(t, err)
	}
	var n node
	require.NoError(t, blob.GetJSON(t.Context(), store, head, &n))
	require.Less(t, n.Depth, flattenEvery)
}

func TestAMissingNodeIsAnError(t *testing.T) {
	_, err := Load(t.Context(), blob.NewMem(), blob.Sum([]byte("never stored")))
	require.ErrorIs(t, err, blob.ErrNotFound)
}
