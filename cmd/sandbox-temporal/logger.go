// This file exists to bring the Temporal server's logging into the one slog stream on standard error.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// serverLogger is the server's log.Logger on slog. The server reports what it cannot survive through Fatal, also a
// port that another process took a moment ago; restart is called for that one.
type serverLogger struct {
	log     *slog.Logger
	restart func()
}

var (
	_ log.Logger     = serverLogger{}
	_ log.WithLogger = serverLogger{}
)

func (l serverLogger) With(tags ...tag.Tag) log.Logger {
	args := make([]any, len(tags))
	for i, t := range tags {
		args[i] = lazyAttr(t)
	}
	l.log = l.log.With(args...)
	return l
}

func (l serverLogger) Debug(msg string, tags ...tag.Tag)  { l.write(slog.LevelDebug, msg, tags) }
func (l serverLogger) Info(msg string, tags ...tag.Tag)   { l.write(slog.LevelInfo, msg, tags) }
func (l serverLogger) Warn(msg string, tags ...tag.Tag)   { l.write(slog.LevelWarn, msg, tags) }
func (l serverLogger) Error(msg string, tags ...tag.Tag)  { l.write(slog.LevelError, msg, tags) }
func (l serverLogger) DPanic(msg string, tags ...tag.Tag) { l.write(slog.LevelError, msg, tags) }

// Panic and Fatal end the process: the server must not go on in a state it calls impossible, and the database is
// made for sudden ends.
func (l serverLogger) Panic(msg string, tags ...tag.Tag) { l.Fatal(msg, tags...) }

func (l serverLogger) Fatal(msg string, tags ...tag.Tag) {
	for _, t := range tags {
		if strings.Contains(fmt.Sprint(t.Value()), "address already in use") {
			l.restart()
		}
	}
	l.write(slog.LevelError, msg, tags)
	os.Exit(exitFailed)
}

// noHTTPWarning begins the server's advice to open an HTTP port, which is closed on purpose.
const noHTTPWarning = "HTTP API port has not been set"

func (l serverLogger) write(level slog.Level, msg string, tags []tag.Tag) {
	if !l.log.Enabled(context.Background(), level) || strings.HasPrefix(msg, noHTTPWarning) {
		return
	}
	attrs := make([]slog.Attr, len(tags))
	for i, t := range tags {
		attrs[i] = lazyAttr(t)
	}
	l.log.LogAttrs(context.Background(), level, msg, attrs...)
}

// lazyAttr defers rendering a tag until a record is really written.
func lazyAttr(t tag.Tag) slog.Attr { return slog.Any(t.Key(), lazyValue{t}) }

type lazyValue struct{ t tag.Tag }

func (v lazyValue) LogValue() slog.Value { return slog.AnyValue(v.t.Value()) }
