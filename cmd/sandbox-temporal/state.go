// This file exists so that clients find the server: it keeps temporal.json, the one file they read.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// serverInfo is the content of temporal.json. PID is 0 while no instance serves; the address is kept, because SDK
// clients dial one fixed address and reconnect to it after a restart.
type serverInfo struct {
	Address   string    `json:"address"`
	Namespace string    `json:"namespace"`
	CA        string    `json:"ca"`
	Cert      string    `json:"cert"`
	Key       string    `json:"key"`
	PID       int       `json:"pid"`
	Schema    string    `json:"schema"`
	Version   string    `json:"version"`
	UIURL     string    `json:"uiUrl,omitempty"`
	StartedAt time.Time `json:"startedAt"`
}

// stateDir is the absolute path of the directory that holds everything this server keeps.
type stateDir string

func openState(dir string) (stateDir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving the state directory: %w", err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", fmt.Errorf("making the state directory: %w", err)
	}
	if err := os.Chmod(abs, 0o700); err != nil {
		return "", fmt.Errorf("closing the state directory to other users: %w", err)
	}
	return stateDir(abs), nil
}

func (s stateDir) path(name string) string { return filepath.Join(string(s), name) }

// read returns what the last instance wrote, or a zero value when there is nothing usable: the file only carries
// hints that a start can make anew.
func (s stateDir) read() serverInfo {
	var info serverInfo
	b, err := os.ReadFile(s.path("temporal.json"))
	if err != nil || json.Unmarshal(b, &info) != nil {
		return serverInfo{}
	}
	return info
}

// write replaces temporal.json atomically with mode 0600.
func (s stateDir) write(info serverInfo) error {
	b, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state file: %w", err)
	}
	return writeFile(s.path("temporal.json"), append(b, '\n'))
}

// writeFile replaces path atomically and durably with a file only its owner can read.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*") // mode 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", filepath.Base(path), err), os.Remove(f.Name()))
	}
	return nil
}
