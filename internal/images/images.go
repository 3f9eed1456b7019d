// Package images makes pictures fit to be shown to a model: it finds out what they are, decodes them within bounds, so that
// none that is small on disk fills the memory, turns photographs upright, and scales down what is larger than a model sees.
package images

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// Bounds of a picture. What is larger is refused, or scaled down to the last two.
const (
	MaxInput  = 20 << 20   // bytes of a file
	MaxPixels = 25_000_000 // of what is decoded; in memory a pixel has up to 8 bytes
	MaxSide   = 2048       // pixels of each side of what is shown
	MaxBytes  = 1 << 20    // of what is shown, where that can be
)

// The types that models take.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
)

const quality = 85 // of what is written as JPEG

// Picture is a picture as it is shown: of an animation its first image.
type Picture struct {
	Data          []byte
	Type          string
	Width, Height int
}

// Type tells from its first bytes, of which 512 are enough, what a file is a picture of; "" when it is none that can be shown.
func Type(head []byte) string {
	if found := http.DetectContentType(head); slices.Contains([]string{PNG, JPEG, GIF, WebP}, found) {
		return found
	}
	return ""
}

// decoding is held while a picture is decoded: a few large ones at a time would need too much memory.
var decoding sync.Mutex

// Fit returns a picture as it is to be shown. Its errors are sentences without a capital that name the cause and the remedy.
func Fit(data []byte) (Picture, error) {
	kind := Type(data)
	switch {
	case kind == "":
		return Picture{}, errors.New("it is no PNG, JPEG, GIF or WebP image; convert it into one of these")
	case len(data) > MaxInput:
		return Picture{}, fmt.Errorf("the image has more than %d MiB; make it smaller", MaxInput>>20)
	}
	config, err := decodeConfig(kind, data)
	if err != nil {
		return Picture{}, broken(err)
	}
	if config.Width <= 0 || config.Height <= 0 || int64(config.Width)*int64(config.Height) > MaxPixels {
		return Picture{}, fmt.Errorf("the image is %d by %d pixels, which is more than %d million; make it smaller", config.Width, config.Height, MaxPixels/1_000_000)
	}
	decoding.Lock()
	defer decoding.Unlock()
	picture, err := decode(kind, data)
	if err != nil {
		return Picture{}, broken(err)
	}
	turned := upright
	if kind == JPEG {
		turned = orientation(data)
	}
	if size := picture.Bounds().Size(); kind != GIF && turned == upright && max(size.X, size.Y) <= MaxSide && len(data) <= MaxBytes {
		return Picture{data, kind, size.X, size.Y}, nil
	}
	return encode(turn(scale(picture), turned))
}

func broken(err error) error {
	return fmt.Errorf("the image is damaged: %w; save it anew", err)
}

// decodeConfig reads the size. The decoder of each format is called by name: what the file says it is, is what is decoded.
func decodeConfig(kind string, data []byte) (image.Config, error) {
	r := bytes.NewReader(data)
	switch kind {
	case PNG:
		return png.DecodeConfig(r)
	case JPEG:
		return jpeg.DecodeConfig(r)
	case GIF:
		return gif.DecodeConfig(r)
	}
	return webp.DecodeConfig(r)
}

func decode(kind string, data []byte) (image.Image, error) {
	r := bytes.NewReader(data)
	switch kind {
	case PNG:
		return png.Decode(r)
	case JPEG:
		return jpeg.Decode(r)
	case GIF:
		return gif.Decode(r)
	}
	return webp.Decode(r)
}

// scale returns a picture whose sides are at most MaxSide, in the same proportion.
func scale(picture image.Image) image.Image {
	size := picture.Bounds().Size()
	longest := max(size.X, size.Y)
	if longest <= MaxSide {
		return picture
	}
	small := image.NewNRGBA(image.Rect(0, 0, max(size.X*MaxSide/longest, 1), max(size.Y*MaxSide/longest, 1)))
	draw.CatmullRom.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	return small
}

// encode writes a picture as PNG, which keeps letters sharp, or as JPEG if that is too large.
func encode(picture image.Image) (Picture, error) {
	size := picture.Bounds().Size()
	out := Picture{Type: PNG, Width: size.X, Height: size.Y}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return out, fmt.Errorf("the image cannot be written: %w", err)
	}
	if b.Len() > MaxBytes {
		b.Reset()
		out.Type = JPEG
		if err := jpeg.Encode(&b, onWhite(picture), &jpeg.Options{Quality: quality}); err != nil {
			return out, fmt.Errorf("the image cannot be written: %w", err)
		}
	}
	out.Data = b.Bytes()
	return out, nil
}

// onWhite puts a picture that can be seen through on white, as JPEG knows no transparency.
func onWhite(picture image.Image) image.Image {
	flat := image.NewRGBA(picture.Bounds())
	draw.Draw(flat, flat.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(flat, flat.Bounds(), picture, picture.Bounds().Min, draw.Over)
	return flat
}
