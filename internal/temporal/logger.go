// This file exists to keep the SDK's chatter out of sight: it reports retries and restarts as warnings and errors.

package temporal

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/log"
)

// logger writes to slog one level lower than the SDK asks, and drops the SDK's debug messages.
type logger struct{ log *slog.Logger }

var (
	_ log.Logger     = logger{}
	_ log.WithLogger = logger{}
)

func newLogger(l *slog.Logger) log.Logger {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return logger{l}
}

func (l logger) With(keyvals ...any) log.Logger { return logger{l.log.With(keyvals...)} }

func (l logger) Debug(string, ...any) {}
func (l logger) Info(msg string, keyvals ...any) {
	l.log.Log(context.Background(), slog.LevelDebug, msg, keyvals...)
}

func (l logger) Warn(msg string, keyvals ...any) {
	l.log.Log(context.Background(), slog.LevelInfo, msg, keyvals...)
}

func (l logger) Error(msg string, keyvals ...any) {
	l.log.Log(context.Background(), slog.LevelWarn, msg, keyvals...)
}
