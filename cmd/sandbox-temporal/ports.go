// This file exists because four services need four free ports and clients need the frontend's to stay the same.

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"go.temporal.io/server/common/primitives"
)

// The frontend's port is kept for years, so it is chosen outside the ranges operating systems give to outgoing
// connections, which could hold it at the next start.
const (
	keptPortMin, keptPortMax = 18000, 32000
	keptPortTries            = 64
)

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// choosePorts returns a free port per service. The frontend gets the port of the address kept from the last start
// unless another program took it. A port can be lost again before the server opens it.
func choosePorts(kept string) (ports map[primitives.ServiceName]int, err error) {
	var open []net.Listener
	defer func() {
		for _, l := range open {
			err = errors.Join(err, l.Close())
		}
	}()
	frontend, err := listenFrontend(kept)
	if err != nil {
		return nil, err
	}
	open = append(open, frontend)
	ports = map[primitives.ServiceName]int{primitives.FrontendService: portOf(frontend)}
	for _, service := range []primitives.ServiceName{primitives.HistoryService, primitives.MatchingService, primitives.WorkerService} {
		l, err := net.Listen("tcp", loopback(0))
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		open = append(open, l)
		ports[service] = portOf(l)
	}
	return ports, nil
}

func listenFrontend(kept string) (net.Listener, error) {
	if host, _, err := net.SplitHostPort(kept); err == nil && host == "127.0.0.1" {
		if l, err := net.Listen("tcp", kept); err == nil {
			return l, nil
		}
	}
	for range keptPortTries {
		if l, err := net.Listen("tcp", loopback(keptPortMin+rand.IntN(keptPortMax-keptPortMin))); err == nil {
			return l, nil
		}
	}
	l, err := net.Listen("tcp", loopback(0))
	if err != nil {
		return nil, fmt.Errorf("finding a free port: %w", err)
	}
	return l, nil
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
