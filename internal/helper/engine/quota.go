// This file bounds the disk that the output of ended commands may take: the oldest goes first, its record stays.

package engine

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sandboxagent/internal/sandbox"
)

type spent struct {
	dir   string
	bytes int64
	ended time.Time
}

// quota counts the spools of ended commands.
type quota struct {
	max int64

	mu   sync.Mutex
	used int64
	list []spent // by time ended
}

// add counts the spools of an ended command and returns the directories whose spools must go.
func (q *quota) add(dir string, ended time.Time) (drop []string) {
	size := spoolSize(dir)
	if size == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at, _ := slices.BinarySearchFunc(q.list, ended, func(s spent, t time.Time) int { return cmp.Compare(s.ended.UnixNano(), t.UnixNano()) })
	q.list = slices.Insert(q.list, at, spent{dir, size, ended})
	q.used += size
	for q.used > q.max && len(q.list) > 1 {
		drop = append(drop, q.list[0].dir)
		q.used -= q.list[0].bytes
		q.list = q.list[1:]
	}
	return drop
}

func spoolSize(dir string) (n int64) {
	for _, s := range []sandbox.Stream{sandbox.Stdout, sandbox.Stderr} {
		if info, err := os.Stat(filepath.Join(dir, string(s))); err == nil {
			n += info.Size()
		}
	}
	return n
}

// account counts a command that has just ended and drops the oldest outputs beyond the quota.
func (e *Engine) account(dir string, ended time.Time) {
	for _, old := range e.quota.add(dir, ended) {
		e.dropSpools(old)
	}
}

func (e *Engine) dropSpools(dir string) {
	for _, c := range e.inMemory() {
		if c.dir == dir {
			<-c.ready
			c.out.drop()
			c.err.drop()
			return
		}
	}
	_ = os.Remove(filepath.Join(dir, string(sandbox.Stdout)))
	_ = os.Remove(filepath.Join(dir, string(sandbox.Stderr)))
}

func (e *Engine) inMemory() []*command {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*command, 0, len(e.commands))
	for _, c := range e.commands {
		out = append(out, c)
	}
	return out
}
