// This file keeps what an installation remembers about its host and its worker.

package config

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const hostIDBytes = 8

// HostID returns the id of this host: 16 hex digits, made at random once and then stable. Any number of processes may ask
// at once and get the same answer. An id that was damaged is an error, never replaced: sessions are bound to it.
func HostID(p Paths) (string, error) {
	id, err := readHostID(p.HostIDFile)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	var random [hostIDBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	err = writeOnce(p.HostIDFile, []byte(hex.EncodeToString(random[:])+"\n"))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making the host id: %w", err)
	}
	return readHostID(p.HostIDFile)
}

func readHostID(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the host id: %w", err)
	}
	id := strings.TrimSpace(string(b))
	if len(id) != hex.EncodedLen(hostIDBytes) || strings.Trim(id, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%s does not hold a host id; restore it, or remove it to give up the sessions of this host", path)
	}
	return id, nil
}

// writeOnce makes a file with the whole of data or fails with fs.ErrExist.
func writeOnce(path string, data []byte) error {
	temp, err := writeTemp(path, data)
	if err != nil {
		return err
	}
	return errors.Join(os.Link(temp, path), os.Remove(temp))
}

// replaceFile gives path the content data, mode 0600, all or nothing.
func replaceFile(path string, data []byte) error {
	temp, err := writeTemp(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// writeTemp writes data, synced, to a new file beside path.
func writeTemp(path string, data []byte) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// WorkerInfo is what the worker of an installation tells about itself in Paths.WorkerState.
type WorkerInfo struct {
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"startedAt"`
	// Socket is where it listens. It may differ from Paths.WorkerSocket of a client whose XDG_RUNTIME_DIR or TMPDIR
	// differs from the worker's.
	Socket string `json:"socket,omitempty"`
}

// WriteWorkerInfo replaces Paths.WorkerState. The holder of Paths.WorkerLock does so once it listens.
func WriteWorkerInfo(p Paths, info WorkerInfo) error {
	b, err := json.MarshalIndent(info, "", "  ")
	if err == nil {
		err = replaceFile(p.WorkerState, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("recording the worker: %w", err)
	}
	return nil
}

// ReadWorkerInfo returns what the last worker wrote. It is a hint, since that worker may have died; a missing file is
// fs.ErrNotExist.
func ReadWorkerInfo(p Paths) (WorkerInfo, error) {
	var info WorkerInfo
	b, err := os.ReadFile(p.WorkerState)
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	if err != nil {
		return WorkerInfo{}, fmt.Errorf("reading what the worker recorded: %w", err)
	}
	return info, nil
}

// DialSocket returns where to look for the worker: the socket it recorded, else WorkerSocket.
func (p Paths) DialSocket() string {
	if info, err := ReadWorkerInfo(p); err == nil && filepath.IsAbs(info.Socket) {
		return info.Socket
	}
	return p.WorkerSocket
}
