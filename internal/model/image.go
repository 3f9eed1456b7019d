// This file brings pictures to models that take them, and tells others of them in words.

package model

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Image is a picture of an entry of kind user or tool result.
type Image struct {
	Ref    string `json:"ref"` // where the caller keeps it
	Type   string `json:"type"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Name   string `json:"name,omitempty"`
	// Data is the picture; without it the model is only told that there is one.
	Data []byte `json:"-"`
}

// What a picture costs is counted in squares of it, up to a limit.
const (
	tokenSquare = 32 // pixels of a side
	maxTokens   = 1536
)

// Tokens is about how many tokens a model counts for the picture.
func (i Image) Tokens() int64 {
	squares := func(side int) int64 { return int64((side + tokenSquare - 1) / tokenSquare) }
	return min(squares(i.Width)*squares(i.Height), maxTokens)
}

func (i Image) url() string {
	return "data:" + i.Type + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// String names the picture for a model that is not shown it.
func (i Image) String() string {
	return fmt.Sprintf("image %s, %d by %d pixels", strconv.Quote(i.Name), i.Width, i.Height)
}

// featImages are pictures in a request.
const featImages feature = "images"

// imageWords are what servers say that take none.
var imageWords = []string{"image_url", "input_image", "image input", "image content", "images", "multimodal", "vision"}

// refusesImages tells whether a server or its model takes no pictures.
func (c *call) refusesImages(e *Error, said string) bool {
	return !c.lacks[featImages] && e.Status >= http.StatusBadRequest && containsAny(said, imageWords) &&
		slices.ContainsFunc(c.req.Input, func(e Entry) bool { return len(e.Images) > 0 })
}

// pictured returns entries with the pictures that are shown; of the others their texts tell. It does not change its argument.
func pictured(entries []Entry, shown bool) []Entry {
	out := slices.Clone(entries)
	for n := range out {
		e := &out[n]
		var kept []Image
		var told strings.Builder
		for _, i := range e.Images {
			switch {
			case shown && len(i.Data) > 0:
				kept = append(kept, i)
			case shown:
				fmt.Fprintf(&told, "\n[%s: it is not shown again]", i)
			default:
				fmt.Fprintf(&told, "\n[%s: it cannot be shown to you, because this model takes no images; say so if it matters]", i)
			}
		}
		e.Images, e.Text = kept, e.Text+told.String()
	}
	return out
}
