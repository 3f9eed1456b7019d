// This file writes the log: to a file of bounded size, which all processes of an installation share, and warnings to
// people.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// maxLogBytes bounds the log file; one older file of that size is kept.
const maxLogBytes = 10 << 20

// logFile appends to a file that is opened when it is first needed.
type logFile struct {
	path   string
	redact func(string) string

	mu   sync.Mutex
	file *os.File
}

func newLogFile(path string, redact func(string) string) *logFile {
	return &logFile{path: path, redact: redact}
}

// Write implements io.Writer.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return 0, err
	}
	if _, err := l.file.WriteString(l.redact(string(p))); err != nil {
		return 0, fmt.Errorf("writing the log: %w", err)
	}
	return len(p), nil
}

// open sees to it that the file is the one at the path and not too large. Another process may have moved it.
func (l *logFile) open() error {
	if l.file != nil {
		mine, err := l.file.Stat()
		there, bad := os.Stat(l.path)
		if err == nil && bad == nil && os.SameFile(mine, there) && mine.Size() < maxLogBytes {
			return nil
		}
		l.file.Close()
		l.file = nil
	}
	if info, err := os.Stat(l.path); err == nil && info.Size() >= maxLogBytes {
		if err := os.Rename(l.path, l.path+".1"); err != nil {
			return fmt.Errorf("moving the full log away: %w", err)
		}
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	l.file = file
	return nil
}

// Close closes the file; a later Write opens it again.
func (l *logFile) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

func newLogger(file, stderr io.Writer, level slog.Level) *slog.Logger {
	return slog.New(both{
		slog.NewTextHandler(file, &slog.HandlerOptions{Level: level}),
		slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: max(level, slog.LevelWarn)}),
	}).With("pid", os.Getpid())
}

// both hands each record to two handlers.
type both [2]slog.Handler

// Enabled implements slog.Handler.
func (b both) Enabled(ctx context.Context, level slog.Level) bool {
	return b[0].Enabled(ctx, level) || b[1].Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (b both) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	for _, h := range b {
		if h.Enabled(ctx, r.Level) {
			errs = append(errs, h.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(errs...)
}

// WithAttrs implements slog.Handler.
func (b both) WithAttrs(attrs []slog.Attr) slog.Handler {
	return both{b[0].WithAttrs(attrs), b[1].WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (b both) WithGroup(name string) slog.Handler {
	return both{b[0].WithGroup(name), b[1].WithGroup(name)}
}
