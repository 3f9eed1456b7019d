// This file tests how the model is shown images.

package tools

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/internal/blob"
	"sandboxagent/internal/images"
)

func TestAnImageIsShownToTheModel(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 3000, 1500))))
	r := newRig(t, map[string]string{"shot.png": b.String(), "bad.png": b.String()[:b.Len()-30], "text.png": "no image\n"})
	result := r.run(t.Context(), call("1", readFile, obj{"path": "shot.png"}))
	require.Equal(t, editors.ItemCompleted, result.Status, result.Error)
	require.Contains(t, result.ForModel, "shot.png is an image of")
	require.Contains(t, result.ForModel, "shown at 2048 by 1024 pixels")
	require.Len(t, result.Images, 1)
	shown := result.Images[0]
	data, err := blob.ReadAll(t.Context(), r.env.Blobs, blob.Ref(shown.Ref), images.MaxInput)
	require.NoError(t, err)
	require.Equal(t, editors.Image{Ref: shown.Ref, Type: images.PNG, Width: 2048, Height: 1024, Bytes: int64(len(data)), Name: "shot.png"}, shown)

	result = r.run(t.Context(), call("2", readFile, obj{"path": "bad.png"}))
	require.Equal(t, editors.ItemFailed, result.Status)
	require.Contains(t, result.Error, "the image is damaged")
	require.Contains(t, r.run(t.Context(), call("3", readFile, obj{"path": "text.png"})).ForModel, "no image\n")
}
