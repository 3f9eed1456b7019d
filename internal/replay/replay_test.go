package replay

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
)

func load(t *testing.T, path string) *historypb.History {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	h, err := client.HistoryFromJSON(z, client.HistoryJSONOptions{})
	require.NoError(t, err)
	return h
}

func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { require.NoError(t, History(load(t, f))) })
	}
}

func TestADifferentDecisionIsFound(t *testing.T) {
	files, err := filepath.Glob("testdata/session-*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	h := load(t, files[0])
	for _, e := range h.Events {
		if e.EventType == enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			e.GetActivityTaskScheduledEventAttributes().ActivityType.Name = "Another"
			break
		}
	}
	require.ErrorContains(t, History(h), "replay")
}
