// Package mcptest has MCP servers for tests: one made with the SDK, and one written by hand against the specification's JSON,
// so that the SDK is not only tested against itself. Programs of tests become one of them by Main.
package mcptest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Variable says, in the environment of a test's program, which server Main makes of it: sdk, hand, silent (it reads and never
// answers), deaf (by hand, but it reads nothing any more once it has listed its tools) or broken (it ends at once).
const Variable = "MCPTEST_SERVER"

// Main serves over stdin and stdout and ends the program if Variable is set; call it first in TestMain.
func Main() {
	kind := os.Getenv(Variable)
	var err error
	switch kind {
	case "":
		return
	case "sdk":
		err = New().Run(context.Background(), &sdk.StdioTransport{})
	case "hand", "deaf":
		err = byHand(os.Stdin, os.Stdout, kind == "deaf")
	case "silent":
		time.Sleep(time.Hour)
	default:
		err = fmt.Errorf("the server is %s, and its key is %s", kind, os.Getenv("MCPTEST_KEY"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// NoteParams says to which file a line is appended, so that tests can count what was done.
type NoteParams struct {
	File string `json:"file"`
	Text string `json:"text,omitempty"`
}

// New makes a server with tools that tests need.
func New() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "tested", Version: "1"}, nil)
	tool(s, "echo", "Says the text again.", func(_ context.Context, _ *sdk.CallToolRequest, p NoteParams) *sdk.CallToolResult { return text(p.Text) })
	tool(s, "note", "Appends the text to a file.", func(_ context.Context, _ *sdk.CallToolRequest, p NoteParams) *sdk.CallToolResult {
		note(p.File, p.Text)
		return text("noted")
	})
	tool(s, "wait", "Appends begun to a file and waits to be cancelled.", wait)
	tool(s, "crash", "Appends begun to a file and dies.", func(_ context.Context, _ *sdk.CallToolRequest, p NoteParams) *sdk.CallToolResult {
		note(p.File, "begun")
		fmt.Fprintln(os.Stderr, "fatal: cannot go on")
		os.Exit(1)
		return nil
	})
	tool(s, "big", "Answers with 10 MB.", func(context.Context, *sdk.CallToolRequest, NoteParams) *sdk.CallToolResult {
		return text("begin " + strings.Repeat("0123456789", 1<<20) + " end")
	})
	tool(s, "picture", "Answers with an image.", func(context.Context, *sdk.CallToolRequest, NoteParams) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "here:"}, &sdk.ImageContent{Data: PNG(), MIMEType: "image/png"}}}
	})
	tool(s, "fail", "Says that it failed.", func(context.Context, *sdk.CallToolRequest, NoteParams) *sdk.CallToolResult {
		r := text("no such thing")
		r.IsError = true
		return r
	})
	tool(s, "environment", "Tells variables, arguments and directory.", func(context.Context, *sdk.CallToolRequest, NoteParams) *sdk.CallToolResult {
		dir, _ := os.Getwd()
		return text(strings.Join(os.Environ(), "\n") + "\n" + strings.Join(os.Args, " ") + "\ndir " + dir)
	})
	tool(s, "child", "Leaves a child behind that writes its process id to a file.", func(_ context.Context, _ *sdk.CallToolRequest, p NoteParams) *sdk.CallToolResult {
		_ = exec.Command("sh", "-c", `echo $$ > "$0"; exec sleep 4712`, p.File).Start()
		return text("left")
	})
	tool(s, "grow", "Adds the tool grown.", func(context.Context, *sdk.CallToolRequest, NoteParams) *sdk.CallToolResult {
		tool(s, "grown", "Is new.", func(context.Context, *sdk.CallToolRequest, NoteParams) *sdk.CallToolResult { return text("new") })
		return text("grown")
	})
	return s
}

func tool(s *sdk.Server, name, description string, f func(context.Context, *sdk.CallToolRequest, NoteParams) *sdk.CallToolResult) {
	sdk.AddTool(s, &sdk.Tool{Name: name, Description: description}, func(ctx context.Context, r *sdk.CallToolRequest, p NoteParams) (*sdk.CallToolResult, any, error) {
		return f(ctx, r, p), nil, nil
	})
}

// wait tells of its progress until it is cancelled.
func wait(ctx context.Context, r *sdk.CallToolRequest, p NoteParams) *sdk.CallToolResult {
	note(p.File, "begun")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			note(p.File, "cancelled")
			return text("cancelled")
		case <-tick.C:
			if token := r.Params.GetProgressToken(); token != nil {
				_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: "waiting"})
			}
		}
	}
}

// PNG is the image that the tool picture answers with, of 3 by 2 pixels.
func PNG() []byte {
	var out bytes.Buffer
	_ = png.Encode(&out, image.NewGray(image.Rect(0, 0, 3, 2))) // memory takes it
	return out.Bytes()
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

func note(file, line string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line + "\n")
	_ = f.Close()
}
