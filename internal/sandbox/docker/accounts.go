// This file gives the user of a sandbox a name and a home, for programs that do not work without.

package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

const (
	userName   = "agent"
	maxPasswd  = 1 << 20
	passwdFile = "/etc/passwd"
)

// accounts returns the home of the user in the container and, when the container does not know the user yet, the list of
// users to put into it.
func (e *engine) accounts(ctx context.Context, id string, who identity) (passwd []byte, home string, err error) {
	known, err := e.readFile(ctx, id, passwdFile, maxPasswd)
	if err != nil && !missing(err) {
		return nil, "", err
	}
	for line := range bytes.Lines(known) {
		fields := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(who.uid) && path.IsAbs(fields[5]) && path.Clean(fields[5]) != "/" {
			return nil, path.Clean(fields[5]), nil
		}
	}
	if len(known) > 0 && known[len(known)-1] != '\n' {
		known = append(known, '\n')
	}
	home = "/home/" + userName
	return fmt.Appendf(known, "%s:x:%d:%d::%s:/bin/sh\n", userName, who.uid, who.gid, home), home, nil
}

// readFile returns a small file of a container.
func (e *engine) readFile(ctx context.Context, id, name string, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	stream, _, err := e.CopyFromContainer(ctx, id, name)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	tr := tar.NewReader(stream)
	h, err := tr.Next()
	if err != nil {
		return nil, fmt.Errorf("read %s of the container: %w", name, err)
	}
	if h.Typeflag != tar.TypeReg || h.Size > most {
		return nil, fmt.Errorf("read %s of the container: it is no small file", name)
	}
	return io.ReadAll(io.LimitReader(tr, most))
}

// environment is what the helper, and so every command, starts with, beside what the image says.
func environment(image []string, home string) []string {
	search := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	language := "C.UTF-8"
	for _, pair := range image {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == "PATH" && value != "":
			search = value
		case name == "LANG" && value != "":
			language = value
		}
	}
	return []string{
		"HOME=" + home, "USER=" + userName, "LOGNAME=" + userName, "LANG=" + language, "PATH=" + home + "/.local/bin:" + search,
	}
}
