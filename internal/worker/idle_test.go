package worker

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAWorkerEndsOnlyWhenNobodyNeedsItForTheWholeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var needed atomic.Bool
		needed.Store(true)
		var stopped atomic.Bool
		began := time.Now()
		go whenIdle(t.Context(), time.Hour, needed.Load, func() { stopped.Store(true) })
		time.Sleep(3 * time.Hour)
		require.False(t, stopped.Load(), "it is needed")
		needed.Store(false)
		time.Sleep(50 * time.Minute)
		needed.Store(true)
		time.Sleep(time.Minute)
		needed.Store(false)
		time.Sleep(50 * time.Minute)
		require.False(t, stopped.Load(), "it was needed in between")
		time.Sleep(20 * time.Minute)
		require.True(t, stopped.Load())
		require.Greater(t, time.Since(began), 4*time.Hour)
	})
}
