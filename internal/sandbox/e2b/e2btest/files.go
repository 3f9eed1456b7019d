//go:build linux

// This file is the daemon's files, which it reads and writes with its own rights; only their owner is the user.

package e2btest

import (
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// path is where a path of a request is: absolute, or from the user's home.
func (d *daemon) path(p string) string {
	switch {
	case p == "~":
		return d.Home
	case strings.HasPrefix(p, "~/"):
		return filepath.Join(d.Home, p[2:])
	case filepath.IsAbs(p):
		return filepath.Clean(p)
	}
	return filepath.Join(d.Home, p)
}

// makeParents makes the directories above a path, for the user.
func makeParents(path string) error {
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := makeParents(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return own(dir)
}

type written struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Type string `json:"type"`
}

// upload answers POST /files.
func (d *daemon) upload(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		d.uploadParts(w, r)
		return
	}
	name := r.URL.Query().Get("path")
	if r.Header.Get("Content-Type") != "application/octet-stream" || name == "" {
		refuse(w, http.StatusBadRequest, "path and a content type are required")
		return
	}
	d.finish(w, []string{name}, d.store(name, r.Body))
}

func (d *daemon) uploadParts(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		refuse(w, http.StatusBadRequest, "%v", err)
		return
	}
	var names []string
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			d.finish(w, names, nil)
			return
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, "%v", err)
			return
		}
		name := r.URL.Query().Get("path")
		if name == "" {
			name = fileName(part)
		}
		names = append(names, name)
		if err := d.store(name, part); err != nil {
			d.finish(w, nil, err)
			return
		}
	}
}

// fileName is the whole name of a part, of which the standard library keeps the last element only.
func fileName(part *multipart.Part) string {
	_, rest, _ := strings.Cut(part.Header.Get("Content-Disposition"), `filename="`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func (d *daemon) store(name string, content io.Reader) error {
	path := d.path(name)
	if err := makeParents(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close(), own(path))
}

func (d *daemon) finish(w http.ResponseWriter, names []string, err error) {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		refuse(w, http.StatusInsufficientStorage, "not enough disk space available")
	case errors.Is(err, syscall.EISDIR):
		refuse(w, http.StatusBadRequest, "path is a directory")
	case err != nil:
		refuse(w, http.StatusInternalServerError, "%v", err)
	default:
		out := []written{}
		for _, name := range names {
			out = append(out, written{filepath.Base(name), d.path(name), "file"})
		}
		answer(w, http.StatusOK, out)
	}
}

// download answers GET /files.
func (d *daemon) download(w http.ResponseWriter, r *http.Request) {
	path := d.path(r.URL.Query().Get("path"))
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		refuse(w, http.StatusNotFound, "path '%s' does not exist", path)
	case err != nil:
		refuse(w, http.StatusInternalServerError, "%v", err)
	case !info.Mode().IsRegular():
		refuse(w, http.StatusBadRequest, "path '%s' is not a file", path)
	default:
		http.ServeFile(w, r, path)
	}
}

type pathRequest struct {
	Path        string `json:"path"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

func (d *daemon) stat(q pathRequest) (any, *problem) {
	e, problem := d.entry(d.path(q.Path))
	return map[string]any{"entry": e}, problem
}

// entry describes what is at a path; a link is what it leads to.
func (d *daemon) entry(path string) (map[string]any, *problem) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, problemf("not_found", "file not found: %s", path)
	case err != nil:
		return nil, problemf("internal", "error getting file info: %v", err)
	}
	kind := "FILE_TYPE_FILE"
	if info.IsDir() {
		kind = "FILE_TYPE_DIRECTORY"
	}
	return map[string]any{
		"name": filepath.Base(path), "type": kind, "path": path, "size": strconv.FormatInt(info.Size(), 10), "mode": info.Mode().Perm(),
		"permissions": info.Mode().String(), "owner": "user", "group": "user", "modifiedTime": info.ModTime().UTC().Format(time.RFC3339Nano),
	}, nil
}

func (d *daemon) makeDir(q pathRequest) (any, *problem) {
	path := d.path(q.Path)
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return nil, problemf("already_exists", "directory already exists: %s", path)
		}
		return nil, problemf("invalid_argument", "path already exists but it is not a directory: %s", path)
	}
	if err := makeParents(filepath.Join(path, "x")); err != nil {
		return nil, problemf("internal", "error creating directory: %v", err)
	}
	return d.stat(q)
}

func (d *daemon) listDir(q pathRequest) (any, *problem) {
	entries, err := os.ReadDir(d.path(q.Path))
	if err != nil {
		return nil, problemf("not_found", "path not found: %v", err)
	}
	var all []map[string]any
	for _, e := range entries {
		if entry, problem := d.entry(filepath.Join(d.path(q.Path), e.Name())); problem == nil {
			all = append(all, entry)
		}
	}
	if all == nil {
		return struct{}{}, nil
	}
	return map[string]any{"entries": all}, nil
}

func (d *daemon) move(q pathRequest) (any, *problem) {
	to := d.path(q.Destination)
	err := makeParents(to)
	if err == nil {
		err = os.Rename(d.path(q.Source), to)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problemf("not_found", "source file not found: %v", err)
	}
	if err != nil {
		return nil, problemf("internal", "error moving file: %v", err)
	}
	return d.stat(pathRequest{Path: q.Destination})
}

func (d *daemon) remove(q pathRequest) (any, *problem) {
	if err := os.RemoveAll(d.path(q.Path)); err != nil {
		return nil, problemf("internal", "error removing file or directory: %v", err)
	}
	return struct{}{}, nil
}
