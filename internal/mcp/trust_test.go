// This file tests that a call which was given up holds up no other.

package mcp

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lingering is a pool whose server does one thing after the other and lets nothing be cancelled.
func lingering(t *testing.T) *Pool {
	c := stdio("hand")
	c.Timeout = 2 * time.Minute
	p := one(t, c)
	p.o.Grace = 500 * time.Millisecond
	return p
}

// linger begins a call that is answered once the file is there that answer makes, and returns when the server is at it.
func linger(ctx context.Context, t *testing.T, p *Pool) (ended chan error, answer func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notes")
	ended = make(chan error, 1)
	go func() {
		_, err := p.do(ctx, "linger", `{"file":`+strconv.Quote(file)+`}`)
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(lines(t, file)) == 1 }, 20*time.Second, 5*time.Millisecond)
	return ended, func() { require.NoError(t, os.WriteFile(file+".go", nil, 0o600)) }
}

func (p *Pool) linked() *link {
	s := p.server("x", "s")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

func TestAServerThatIgnoresACancelIsStartedAgain(t *testing.T) {
	p := lingering(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended, _ := linger(ctx, t, p)
	first := p.linked()
	cancel()
	require.Error(t, <-ended)
	began := time.Now()
	r, err := p.do(t.Context(), "greet", `{"name":"next"}`)
	require.NoError(t, err)
	require.Contains(t, r.Text, `greet got {"name":"next"}`)
	require.Less(t, time.Since(began), time.Minute, "not as long as a call may take")
	require.NotSame(t, first, p.linked())
}

func TestALateAnswerIsDropped(t *testing.T) {
	p := lingering(t)
	p.o.Grace = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	ended, answer := linger(ctx, t, p)
	first := p.linked()
	cancel()
	require.Error(t, <-ended)
	answer()
	r, err := p.do(t.Context(), "greet", `{"name":"next"}`)
	require.NoError(t, err)
	require.Contains(t, r.Text, `greet got {"name":"next"}`)
	require.Same(t, first, p.linked(), "it had only not stopped at once")
}

func TestAServerThatIsAtAnOlderCallIsLeftInPeace(t *testing.T) {
	p := lingering(t)
	ended, answer := linger(t.Context(), t, p)
	first := p.linked()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := p.do(ctx, "greet", `{"name":"given up"}`)
	require.ErrorContains(t, err, "interrupted")
	first.trust.mu.Lock()
	require.Nil(t, first.trust.doubt, "what it is at is awaited by somebody")
	first.trust.mu.Unlock()
	answer()
	require.NoError(t, <-ended)
	require.Same(t, first, p.linked())
}
