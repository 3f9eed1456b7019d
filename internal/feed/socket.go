// This file opens the socket: in a private directory, for this user only, and never over a hub that is alive.

package feed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// listen binds path, under a lock that lives as long as the listener: of two workers one gets ErrInUse.
func listen(path string) (*net.UnixListener, *flock.Flock, error) {
	if len(path) > MaxSocketPath {
		return nil, nil, fmt.Errorf("the path of the socket is too long: %d bytes, at most %d work on every system", len(path), MaxSocketPath)
	}
	if err := checkDir(filepath.Dir(path)); err != nil {
		return nil, nil, err
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, nil, fmt.Errorf("locking the socket: %w", err)
	}
	if !locked {
		return nil, nil, ErrInUse
	}
	listener, err := bind(path)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Unlock())
	}
	return listener, lock, nil
}

// bind takes the place of a socket that nobody answers on.
func bind(path string) (*net.UnixListener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("closing the socket to others: %w", err), listener.Close())
	}
	return listener, nil
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the socket: %w", err)
	}
	switch info.Mode().Type() {
	case fs.ModeSocket:
	case 0: // a file in our private directory: nobody else can have put it there
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing the file in the place of the socket: %w", err)
		}
		return nil
	default:
		return fmt.Errorf("%s is in the place of the worker's socket and is none: remove it", path)
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		return errors.Join(ErrInUse, conn.Close())
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a stale socket: %w", err)
	}
	return nil
}

// checkDir makes the directory of the socket, or checks that nobody else can enter it.
func checkDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the directory of the socket: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("looking at the directory of the socket: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("others can enter %s, the directory of the socket; run chmod 700 on it", dir)
	}
	return nil
}

// connect dials path and checks that this user listens there.
func connect(ctx context.Context, path string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// checkPeer refuses a peer that is another user, where the system tells.
func checkPeer(conn net.Conn) error {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%T is not a unix connection", conn)
	}
	uid, known, err := peerUID(unixConn)
	if err != nil {
		return fmt.Errorf("asking who is at the other end of the socket: %w", err)
	}
	if known && uid != os.Getuid() {
		return fmt.Errorf("another user (uid %d) is at the other end of the socket", uid)
	}
	return nil
}
