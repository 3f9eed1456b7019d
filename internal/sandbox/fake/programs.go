// This file holds the programs that scripts may call.

package fake

import (
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/interp"
)

// tools are the programs by name; what they return fails them.
var tools = map[string]func(ctx context.Context, p *Process, hc interp.HandlerContext, args []string) error{
	"cat": runCat, "sleep": runSleep, "ln": runLn, "mkdir": runMkdir,
}

// exec implements the handler of programs.
func (p *Process) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	run := tools[args[0]]
	if run == nil {
		fmt.Fprintf(hc.Stderr, "%s: no such program\n", args[0])
		return interp.ExitStatus(127)
	}
	if err := run(ctx, p, hc, args[1:]); err != nil {
		if ctx.Err() == nil {
			fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
		}
		return interp.ExitStatus(1)
	}
	return nil
}

func absolute(hc interp.HandlerContext, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(hc.Dir, name)
}

// runCat copies files, or its input.
func runCat(ctx context.Context, p *Process, hc interp.HandlerContext, args []string) error {
	if len(args) == 0 {
		_, err := io.Copy(hc.Stdout, hc.Stdin)
		return err
	}
	for _, name := range args {
		f, err := p.open(ctx, name, 0, 0)
		if err == nil {
			_, err = io.Copy(hc.Stdout, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runSleep waits for a number of seconds.
func runSleep(ctx context.Context, _ *Process, _ interp.HandlerContext, args []string) error {
	seconds, err := strconv.ParseFloat(strings.Join(args, ""), 64)
	if err != nil {
		return fmt.Errorf("invalid time: %w", err)
	}
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runLn makes a symbolic link: ln -s target name.
func runLn(_ context.Context, p *Process, hc interp.HandlerContext, args []string) error {
	if len(args) != 3 || args[0] != "-s" {
		return fmt.Errorf("only ln -s target name")
	}
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	at, err := p.place.find("link", absolute(hc, args[2]), false)
	if err != nil {
		return err
	}
	if at.node != nil {
		return fmt.Errorf("%s exists", args[2])
	}
	at.dir.children[at.name] = newLink(args[1])
	return nil
}

// runMkdir makes directories, always with those above them.
func runMkdir(_ context.Context, p *Process, hc interp.HandlerContext, args []string) error {
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	for _, name := range args {
		if name == "-p" {
			continue
		}
		at, err := p.place.find("mkdir", absolute(hc, name), true)
		if err == nil && at.node != nil && at.node.children != nil {
			continue
		}
		p.place.plant(absolute(hc, name), newDir())
	}
	return nil
}
