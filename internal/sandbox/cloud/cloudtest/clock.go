//go:build linux

// Package cloudtest is what stand-ins of clouds have in common: a clock that tests move on, requests that go wrong, and the
// process trees of sandboxes. Linux only.
//
// This file is the clock.
package cloudtest

import (
	"slices"
	"sync"
	"time"
)

// ManualClock is a cloud.Clock whose time passes by Advance only. Its zero value begins in the year 1.
type ManualClock struct {
	mu      sync.Mutex
	now     time.Time
	waiting []waiter
}

type waiter struct {
	from, at time.Time
	c        chan time.Time
}

// NewClock returns a clock that begins now.
func NewClock() *ManualClock { return &ManualClock{now: time.Now()} }

// Now implements cloud.Clock.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After implements cloud.Clock.
func (c *ManualClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := waiter{c.now, c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		w.c <- c.now
		return w.c
	}
	c.waiting = append(c.waiting, w)
	return w.c
}

// Advance lets time pass.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.waiting = slices.DeleteFunc(c.waiting, func(w waiter) bool {
		over := !w.at.After(c.now)
		if over {
			w.c <- c.now
		}
		return over
	})
}

// Waits reports whether somebody has just begun, in this clock's time, to wait for that long.
func (c *ManualClock) Waits(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.waiting, func(w waiter) bool { return w.from.Equal(c.now) && w.at.Equal(c.now.Add(d)) })
}
