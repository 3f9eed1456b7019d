// Command scripted-model runs the scripted model server on its own, for tests in other languages and for trying things by hand.
// It prints one JSON line with its base URL and serves until it is interrupted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sandboxagent/internal/model/modeltest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scripted-model:", err)
		os.Exit(1)
	}
}

func run() error {
	script := flag.String("script", "", "the script to answer by (JSON)")
	addr := flag.String("addr", "127.0.0.1:0", "the address to listen on; port 0 takes a free one")
	flag.Parse()
	if *script == "" {
		return errors.New("say which script to answer by: --script FILE")
	}
	loaded, err := modeltest.Load(*script)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	handler := modeltest.NewServer(loaded)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() {
		handler.Close()
		_ = server.Close()
	})
	line := map[string]string{"baseURL": "http://" + listener.Addr().String() + "/v1"}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
