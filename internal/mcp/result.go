// This file puts what a tool gave back into words.

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Result is what a tool gave back.
type Result struct {
	Text   string   // whole, valid UTF-8; at most some 16 MiB, of which a message may have no more
	Images [][]byte // as they came; Text says where they stand
	Error  bool     // the tool says that it failed
}

func resultOf(r *sdk.CallToolResult) Result {
	var parts []string
	var pictures [][]byte
	for _, c := range r.Content {
		if image, ok := c.(*sdk.ImageContent); ok {
			pictures = append(pictures, image.Data)
			parts = append(parts, fmt.Sprintf("[image %d: %s, %d bytes]", len(pictures), shown(image.MIMEType, 80), len(image.Data)))
			continue
		}
		parts = append(parts, contentText(c))
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(data))
		}
	}
	text := strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")
	return Result{Text: strings.ReplaceAll(text, "\x00", "\uFFFD"), Images: pictures, Error: r.IsError}
}

// contentText is one part of a result that is no image. What is no text is named.
func contentText(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.AudioContent:
		return fmt.Sprintf("[a recording, %s, %d bytes; it is not played]", shown(c.MIMEType, 80), len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[a link to %s: %s]", shown(c.Name, 200), shown(c.URI, 1000))
	case *sdk.EmbeddedResource:
		return resourceText(c.Resource)
	}
	return "[content of a kind that is not known here]"
}

func resourceText(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return "[an empty resource]"
	case r.Text != "":
		return fmt.Sprintf("[%s]\n%s", shown(r.URI, 1000), r.Text)
	}
	return fmt.Sprintf("[%s, %s, %d bytes; it is not shown]", shown(r.URI, 1000), shown(r.MIMEType, 80), len(r.Blob))
}
