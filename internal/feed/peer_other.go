//go:build !linux && !darwin

// This file stands in where the system does not tell who is at the other end: the mode of the socket's directory decides.

package feed

import "net"

func peerUID(*net.UnixConn) (uid int, known bool, err error) { return 0, false, nil }
