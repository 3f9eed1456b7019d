// This file tests calls: their answers, errors, limits and ends.

package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

type ping struct {
	Text string `json:"text"`
}

func handlePing(_ context.Context, params json.RawMessage) (any, error) {
	var p ping
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	return p, nil
}

func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		h.Handle("ping", handlePing)
		h.Handle("deny", func(context.Context, json.RawMessage) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", editors.Errorf(editors.CodeDenied, "Not you.").WithRemedy("Ask."))
		})
		h.Handle("fail", func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("odd") })
		h.Handle("panic", func(context.Context, json.RawMessage) (any, error) { panic("secret detail") })
		h.Handle("large", func(context.Context, json.RawMessage) (any, error) { return strings.Repeat("x", MaxCallBytes), nil })
		h.Handle("function", func(context.Context, json.RawMessage) (any, error) { return func() {}, nil })
		c := pipeClient(t, h)

		var got ping
		require.NoError(t, c.Call(t.Context(), "ping", ping{"hello"}, &got))
		require.Equal(t, "hello", got.Text)
		require.NoError(t, c.Call(t.Context(), "ping", ping{strings.Repeat("x", MaxCallBytes-100)}, &got))
		require.NoError(t, c.Call(t.Context(), "ping", nil, nil))

		err := c.Call(t.Context(), "deny", nil, nil)
		var known *editors.Error
		require.ErrorAs(t, err, &known)
		require.Equal(t, editors.ErrorData{Code: editors.CodeDenied, Remedy: "Ask."}, known.ErrorData)
		require.Equal(t, "Not you.", known.Message)
		for method, code := range map[string]editors.Code{
			"fail": editors.CodeInternal, "panic": editors.CodeInternal, "function": editors.CodeInternal,
			"large": editors.CodeLimit, "unknown": editors.CodeUnsupported,
		} {
			err := c.Call(t.Context(), method, nil, nil)
			require.Equal(t, code, editors.CodeOf(err), method)
			require.NotContains(t, err.Error(), "secret detail")
		}
		require.Equal(t, editors.CodeLimit, editors.CodeOf(c.Call(t.Context(), "ping", ping{strings.Repeat("x", MaxCallBytes)}, nil)))
		require.Error(t, c.Call(t.Context(), "ping", func() {}, nil))
		require.Error(t, c.Call(t.Context(), "ping", ping{"x"}, new(int)))
		require.NoError(t, c.Err(), "the connection survives all this")
	})
}

// blocking answers when its context ends or release is closed, and counts who runs.
func blocking(release chan struct{}, began chan<- struct{}) Handler {
	return func(ctx context.Context, _ json.RawMessage) (any, error) {
		began <- struct{}{}
		select {
		case <-release:
			return "released", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestCallsEndWithTheirCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		began := make(chan struct{}, maxCalls)
		h.Handle("block", blocking(nil, began))
		c := pipeClient(t, h)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-began
			cancel()
		}()
		require.ErrorIs(t, c.Call(ctx, "block", nil, nil), context.Canceled)
		synctest.Wait()
		h.mu.Lock()
		for conn := range h.conns {
			require.Empty(t, conn.calls, "the handler was told")
		}
		h.mu.Unlock()

		start := time.Now()
		require.Error(t, c.Call(t.Context(), "block", nil, nil))
		require.Equal(t, defaultCallTime, time.Since(start))
		<-began
		go func() {
			<-began
			_ = c.Close()
		}()
		require.Equal(t, editors.CodeWorkerUnavailable, editors.CodeOf(c.Call(t.Context(), "block", nil, nil)))
		require.Equal(t, editors.CodeWorkerUnavailable, editors.CodeOf(c.Call(t.Context(), "block", nil, nil)))
	})
}

func TestTooManyCallsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		release, began := make(chan struct{}), make(chan struct{}, maxCalls+1)
		h.Handle("block", blocking(release, began))
		c := pipeClient(t, h)
		var tasks conc.WaitGroup
		for range maxCalls {
			tasks.Go(func() {
				if err := c.Call(t.Context(), "block", nil, nil); err != nil {
					t.Errorf("calling: %v", err)
				}
			})
		}
		synctest.Wait()
		require.Len(t, began, maxCalls)
		require.Equal(t, editors.CodeBusy, editors.CodeOf(c.Call(t.Context(), "block", nil, nil)))
		close(release)
		tasks.Wait()
		require.NoError(t, c.Call(t.Context(), "block", nil, nil))
	})
}

func TestAPeerThatReadsNoAnswersIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := pipeHub(t)
		raw := newRawClient(t, h)
		var err error
		for i := 0; err == nil && i < 10*maxReplies; i++ {
			_, err = raw.conn.Write(encode(t, message{kind: kindCall, header: header{ID: uint64(i + 1), Method: "unknown"}}))
			synctest.Wait()
		}
		require.Error(t, err)
	})
}
