// This file brings pictures into a conversation that is sent to a model: only the newest ones, which are what is worked on.

package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sandboxagent/internal/blob"
	"sandboxagent/internal/images"
	"sandboxagent/internal/model"
)

// ShownImages is how many pictures a model is shown at a time; of older ones it is told.
const ShownImages = 12

// WithImages returns entries with the data of the pictures that are to be shown. It does not change its argument. A picture
// that is no longer there is one that the model is only told of.
func WithImages(ctx context.Context, store blob.Store, entries []model.Entry) []model.Entry {
	out, left := entries, ShownImages
	for n := len(entries) - 1; n >= 0 && left > 0; n-- {
		if len(entries[n].Images) == 0 {
			continue
		}
		if left == ShownImages {
			out = slices.Clone(entries)
		}
		pictures := slices.Clone(entries[n].Images)
		for i := len(pictures) - 1; i >= 0 && left > 0; i-- {
			left--
			data, err := blob.ReadAll(ctx, store, blob.Ref(pictures[i].Ref), images.MaxInput)
			if err == nil {
				pictures[i].Data = data
			}
		}
		out[n].Images = pictures
	}
	return out
}

// imageBytes is what the pictures that are shown of entries count as, in bytes of text.
func imageBytes(entries []model.Entry) int {
	n, left := 0, ShownImages
	for _, e := range slices.Backward(entries) {
		for _, i := range slices.Backward(e.Images) {
			if left == 0 {
				return n
			}
			left--
			n += int(i.Tokens()) * bytesPerToken
		}
	}
	return n
}

// inWords names pictures that are left out.
func inWords(pictures []model.Image) string {
	var b strings.Builder
	for _, i := range pictures {
		fmt.Fprintf(&b, "\n[%s]", i)
	}
	return b.String()
}
