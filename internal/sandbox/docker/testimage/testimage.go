// Package testimage makes a container image of this host's own programs and the libraries they need, so that tests of the
// Docker backend need no registry and no network. It works on Linux with the usual programs installed.
//
// This file is the entry point: it gives tests an engine and the image in it.
package testimage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

const (
	repository = "sandbox-agent-test"
	buildTime  = 3 * time.Minute
)

// Need returns the name of the test image in the engine that the environment points to. Without an engine the test is
// skipped, or, where CI is set, fails.
func Need(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err == nil {
		defer c.Close()
		_, err = c.Ping(ctx)
	}
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("no Docker engine answers; scripts/dockerd starts one: %v", err)
	}
	if err != nil {
		t.Fatalf("no Docker engine answers: %v", err)
	}
	name, err := Ensure(ctx, c)
	if err != nil {
		t.Fatalf("make the test image: %v", err)
	}
	return name
}

// Ensure returns the name of the image, making it if the engine does not have it yet.
func Ensure(ctx context.Context, c *client.Client) (string, error) {
	entries, err := plan()
	if err != nil {
		return "", err
	}
	name := repository + ":" + digest(entries)
	if _, err := c.ImageInspect(ctx, name); !cerrdefs.IsNotFound(err) {
		return name, err
	}
	out, in := io.Pipe()
	defer out.Close()
	go func() { _ = in.CloseWithError(write(in, entries)) }()
	said, err := c.ImageImport(ctx, image.ImportSource{Source: out, SourceName: "-"}, name, image.ImportOptions{
		Changes: []string{"ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "ENV LANG=C.UTF-8"},
	})
	if err != nil {
		return "", fmt.Errorf("import image: %w", err)
	}
	defer said.Close()
	text, err := io.ReadAll(said)
	if err == nil && bytes.Contains(text, []byte(`"error"`)) {
		err = fmt.Errorf("the engine says %s", text)
	}
	if err != nil {
		return "", fmt.Errorf("import image: %w", err)
	}
	return name, nil
}
