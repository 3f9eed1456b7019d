// This file defines what flows over the feed, and its limits.

// Package feed is the live plane between the worker of a host and the editor servers on it: a unix socket that carries
// the text of items while they are made, doorbells for durable events, and small calls.
//
// The feed is fast and lossy. Nothing depends on it: what a subscriber misses it reads from the workflow. The worker's
// side is a Hub, which publishes and never waits for anybody. A server's side is a Watcher, which keeps a Client
// connected to the Hub and its Subscriptions alive; while there is no connection, callers use what is slower.
package feed

import (
	"errors"
	"time"
)

// Limits of the feed.
const (
	RingBytes       = 64 << 10  // of an item's latest data kept for those who come late or are slow
	MaxCallBytes    = 1 << 20   // JSON of the params or the result of a call
	MaxSocketPath   = 100       // bytes of a socket's path
	MaxNameBytes    = 512       // of a session, item, stream or method
	maxFrameData    = 32 << 10  // bytes of data in one frame on the wire
	maxConnections  = 128       // of a hub
	maxSubs         = 256       // subscriptions of one connection
	maxCalls        = 16        // calls of one connection at a time
	maxItems        = 64        // items of a session kept, the oldest go first
	maxDone         = 16        // of these, completed ones that a slow subscriber has not read yet
	maxSessions     = 4096      // sessions whose bell is remembered without a subscriber
	queueBytes      = 256 << 10 // of data that waits for the consumer of a subscription
	queueFrames     = 1024      // and frames
	defaultCallTime = 30 * time.Second
	maxCallTime     = 2 * time.Minute
	writeTimeout    = 10 * time.Second // a peer that takes nothing for so long is disconnected
	helloTimeout    = 5 * time.Second
)

// ErrInUse is returned by Listen when another hub answers on the socket.
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
	// N counts the frames of this item, attempt and stream from 0 as the subscriber gets them; it skips a number where
	// data was lost. It is assigned on the way, since a subscriber that is behind gets several deltas as one.
	N    int64
	Data []byte // not to be changed by anybody
}
