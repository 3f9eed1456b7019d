//go:build linux

// This file is the daemon's files.

package daytonatest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

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

// upload answers POST /files/bulk-upload: of each file its path comes first, then its content.
func (d *daemon) upload(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid multipart form: %v", err)
		return
	}
	paths := map[string]string{}
	var files []map[string]any
	var complaints []string
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, "invalid multipart form: %v", err)
			return
		}
		index, kind, _ := strings.Cut(part.FormName(), ".")
		switch kind {
		case "path":
			text, err := io.ReadAll(io.LimitReader(part, 64<<10))
			if err != nil {
				refuse(w, http.StatusBadRequest, "invalid multipart form: %v", err)
				return
			}
			paths[index] = string(text)
		case "file":
			n, err := d.store(paths[index], part)
			if err != nil {
				complaints = append(complaints, fmt.Sprintf("%s: %v", paths[index], err))
				continue
			}
			files = append(files, map[string]any{"path": paths[index], "bytes": n})
		}
	}
	if len(complaints) > 0 {
		answer(w, http.StatusBadRequest, map[string]any{"errors": complaints, "files": files})
		return
	}
	answer(w, http.StatusOK, map[string]any{"files": files})
}

func (d *daemon) store(name string, content io.Reader) (int64, error) {
	if name == "" {
		return 0, errors.New("missing path")
	}
	path := d.path(name)
	if err := makeParents(path); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, content)
	return n, errors.Join(err, f.Close(), own(path))
}

// download answers GET /files/download.
func (d *daemon) download(w http.ResponseWriter, r *http.Request) {
	path := d.path(r.URL.Query().Get("path"))
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		d.refuseFile(w, err)
		return
	}
	http.ServeFile(w, r, path)
}

// downloadAll answers POST /files/bulk-download with a part for each file, or what is wrong with it.
func (d *daemon) downloadAll(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Paths []string `json:"paths"`
	}
	if !read(w, r, &q) {
		return
	}
	out := multipart.NewWriter(w)
	_ = out.SetBoundary("DAYTONA-FILE-BOUNDARY")
	w.Header().Set("Content-Type", out.FormDataContentType())
	for _, name := range q.Paths {
		if err := d.downloadPart(out, name); err != nil {
			return
		}
	}
	_ = out.Close()
}

func (d *daemon) downloadPart(out *multipart.Writer, name string) error {
	f, err := os.Open(d.path(name))
	h := textproto.MIMEHeader{}
	if err != nil {
		h.Set("Content-Type", "application/json")
		h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="error"; filename=%q`, name))
		w, err := out.CreatePart(h)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(map[string]any{"statusCode": http.StatusNotFound, "message": "file not found", "code": "FILE_NOT_FOUND"})
	}
	defer f.Close()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="file"; filename=%q`, name))
	w, err := out.CreatePart(h)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// refuseFile refuses as the daemon does: with a status and little else.
func (d *daemon) refuseFile(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, fs.ErrNotExist):
		status = http.StatusNotFound
	case errors.Is(err, fs.ErrPermission):
		status = http.StatusForbidden
	case errors.Is(err, fs.ErrExist):
		status = http.StatusConflict
	}
	w.WriteHeader(status)
}

func describe(info fs.FileInfo) map[string]any {
	return map[string]any{
		"name": info.Name(), "size": info.Size(), "mode": info.Mode().String(), "modTime": info.ModTime().String(),
		"modifiedAt": info.ModTime().UTC().Format(time.RFC3339), "isDir": info.IsDir(), "owner": "daytona", "group": "daytona",
		"permissions": fmt.Sprintf("%04o", info.Mode().Perm()),
	}
}

func (d *daemon) listFiles(w http.ResponseWriter, r *http.Request) {
	dir := d.path(r.URL.Query().Get("path"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		d.refuseFile(w, err)
		return
	}
	all := []map[string]any{}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil { // links are followed, dangling ones left out
			one := describe(info)
			one["name"] = e.Name()
			all = append(all, one)
		}
	}
	answer(w, http.StatusOK, all)
}

func (d *daemon) fileInfo(w http.ResponseWriter, r *http.Request) {
	info, err := os.Stat(d.path(r.URL.Query().Get("path")))
	if err != nil {
		d.refuseFile(w, err)
		return
	}
	answer(w, http.StatusOK, describe(info))
}

func (d *daemon) makeFolder(w http.ResponseWriter, r *http.Request) {
	if err := makeParents(filepath.Join(d.path(r.URL.Query().Get("path")), "x")); err != nil {
		d.refuseFile(w, err)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func (d *daemon) deleteFile(w http.ResponseWriter, r *http.Request) {
	path := d.path(r.URL.Query().Get("path"))
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && r.URL.Query().Get("recursive") != "true" {
		err = syscall.EISDIR
	}
	if err == nil {
		err = os.RemoveAll(path)
	}
	if err != nil {
		d.refuseFile(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (d *daemon) moveFile(w http.ResponseWriter, r *http.Request) {
	from, to := d.path(r.URL.Query().Get("source")), d.path(r.URL.Query().Get("destination"))
	if _, err := os.Stat(to); err == nil {
		d.refuseFile(w, fs.ErrExist)
		return
	}
	if err := os.Rename(from, to); err != nil {
		d.refuseFile(w, err)
	}
}
