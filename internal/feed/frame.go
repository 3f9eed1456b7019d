// This file defines what flows over the feed, and its limits.

// Package feed is the live plane between the worker of a host and the editor servers on it: a unix socket that carries
// the text of items while they are made, doorbells for durable events, and small calls.
//
// The feed is fast and lossy. Nothing depends on it: what a subscriber misses it reads from the workflow. The worker's
// side is a Hub, which publishes and never waits for anybody. A server's side is a Watcher, which keeps a Client
// connected to the Hub and its Subscriptions alive; while there is no connection, callers use what is slower.
//
// The Hub keeps the latest bytes of every item that is being made, once, and for every subscriber only how far it has
// read. So a fast subscriber gets every delta at once, a slow one gets what gathered meanwhile in one piece, one that is
// too slow loses the oldest bytes, one that comes late begins with what is there, and memory does not depend on how many
// subscribers there are or how slow they are.
package feed

import (
	"errors"
	"time"
)

// Limits of the feed.
const (
	RingBytes     = 64 << 10 // of an item's latest data, kept for those who come late or are slow
	MaxCallBytes  = 1 << 20  // JSON of the params or the result of a call
	MaxSocketPath = 100      // bytes of a socket's path
	MaxNameBytes  = 512      // of a session, item, stream or method

	defaultCallTime = 30 * time.Second // a call whose context has no deadline
	maxCallTime     = 2 * time.Minute
	writeTimeout    = 10 * time.Second // a peer that takes nothing for so long is disconnected
	helloTimeout    = 5 * time.Second
)

// ErrInUse is returned by Listen when another hub serves the socket.
var ErrInUse = errors.New("another worker serves this socket")

// Frame is a piece of an item while it is made.
type Frame struct {
	Session string
	Item    string
	Seq     int64  // of the item's start
	Attempt int    // a higher attempt voids what lower ones brought
	Stream  string // text, reasoning, stdout, stderr, arguments

	// Offset is how many bytes of this item, attempt and stream came before Data. The Hub assigns it.
	Offset int64
	// N counts the frames of this item, attempt and stream from 0 as a subscriber gets them, and skips one number where
	// data was lost. The Subscription assigns it, because one that is behind gets several deltas in one frame.
	N    int64
	Data []byte // not to be changed by anybody
}
