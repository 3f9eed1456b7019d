// This file finds a place for the helper's socket, whose path the system limits to about 100 bytes.

package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	socketName    = "sock"
	socketFile    = "socket" // in the state directory: the path of the socket, from there or absolute
	maxSocketPath = 100      // bytes; Linux allows 107, macOS 103
)

// listen opens the socket of a state directory: in it, or, where its path is too long or its file system has no
// sockets, in a private directory of this user. Where it is, is recorded in the state directory, for those too who know
// that directory by another path.
func listen(state string) (*net.UnixListener, string, error) {
	path, where := filepath.Join(state, socketName), socketName
	l, err := listenAt(path)
	if err != nil {
		if path, err = runtimePath(state); err != nil {
			return nil, "", err
		}
		where = path
		if l, err = listenAt(path); err != nil {
			return nil, "", err
		}
	}
	tmp := filepath.Join(state, socketFile+".tmp")
	if err = os.WriteFile(tmp, []byte(where), 0o600); err == nil {
		err = os.Rename(tmp, filepath.Join(state, socketFile))
	}
	if err != nil {
		_ = l.Close()
		return nil, "", fmt.Errorf("record socket: %w", err)
	}
	return l, path, nil
}

func listenAt(path string) (*net.UnixListener, error) {
	path, _, err := shorten(path) // what makes it short stays open: the listener removes the socket by that path
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove stale socket: %w", err)
	}
	// the directory is private, so nobody else gets in before the mode is set
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("protect socket: %w", err)
	}
	return l, nil
}

// runtimePath returns a short path for the socket in a directory that only this user can enter.
func runtimePath(state string) (string, error) {
	sum := sha256.Sum256([]byte(state))
	name := hex.EncodeToString(sum[:8])
	candidates := []string{filepath.Join("/tmp", fmt.Sprintf("sandbox-agent-%d", os.Getuid()))}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		candidates = append([]string{filepath.Join(dir, "sandbox-agent")}, candidates...)
	}
	var failed error
	for _, dir := range candidates {
		path := filepath.Join(dir, name)
		if len(path) > maxSocketPath {
			continue
		}
		err := privateDir(dir)
		if err == nil {
			return path, nil
		}
		failed = err
	}
	return "", fmt.Errorf("find a place for the socket: %w", failed)
}

// privateDir makes dir, or checks that it is a directory of this user that nobody else can enter.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a private directory of this user", dir)
	}
	return nil
}

// socketOf returns the path of the socket of a state directory.
func socketOf(state string) (string, error) {
	b, err := os.ReadFile(filepath.Join(state, socketFile))
	if err != nil {
		return "", fmt.Errorf("find socket: %w", err)
	}
	path := strings.TrimSpace(string(b))
	if !filepath.IsAbs(path) {
		path = filepath.Join(state, path)
	}
	return path, nil
}

// connect dials the helper that serves a state directory, if one does.
func connect(state string) (net.Conn, error) {
	path, err := socketOf(state)
	if err != nil {
		return nil, err
	}
	path, release, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer release()
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to the helper: %w", err)
	}
	return conn, nil
}
