// This file knows which messages are in order at which point of a client's life.

package lsp

import (
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// phase is a stage of the life cycle.
type phase int

const (
	phaseNew phase = iota
	phaseReady
	phaseShutdown
)

// lifecycle is the state of a client's life.
type lifecycle struct {
	mu       sync.Mutex
	phase    phase
	exit     bool
	properly bool
}

// admit says why a request is out of order, if it is. It moves on for initialize and shutdown.
func (l *lifecycle) admit(method string) *jsonrpc2.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.phase == phaseShutdown:
		return invalidRequest("The server is shut down; only exit is left to do.")
	case l.phase == phaseNew && method != protocol.MethodInitialize:
		return malformed(jsonrpc2.ServerNotInitialized, "The server is not initialized; send initialize first.")
	case l.phase == phaseReady && method == protocol.MethodInitialize:
		return invalidRequest("The server is initialized already.")
	case method == protocol.MethodInitialize:
		l.phase = phaseReady
	case method == protocol.MethodShutdown:
		l.phase = phaseShutdown
	}
	return nil
}

// undo takes an initialize back that failed.
func (l *lifecycle) undo() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = phaseNew
}

func (l *lifecycle) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == phaseReady
}

// leave notes the exit notification.
func (l *lifecycle) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exit, l.properly = true, l.phase == phaseShutdown
}

func (l *lifecycle) exited() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.exit
}

func (l *lifecycle) exitError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.properly {
		return nil
	}
	return ErrExitWithoutShutdown
}
