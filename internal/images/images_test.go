package images

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// noise is a picture that cannot be compressed.
func noise(width, height int) *image.NRGBA {
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(picture.Pix)
	return picture
}

func pngOf(t testing.TB, picture image.Image) []byte {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, picture))
	return b.Bytes()
}

// tinyWebP is a picture of 1 by 1 pixel.
const tinyWebP = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA="

func TestWhatIsSmallStaysAsItIs(t *testing.T) {
	small := image.NewNRGBA(image.Rect(0, 0, 30, 20))
	data := pngOf(t, small)
	got, err := Fit(data)
	require.NoError(t, err)
	require.Equal(t, Picture{data, PNG, 30, 20}, got)

	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, small, nil))
	got, err = Fit(b.Bytes())
	require.NoError(t, err)
	require.Equal(t, Picture{b.Bytes(), JPEG, 30, 20}, got)

	data, err = base64.StdEncoding.DecodeString(tinyWebP)
	require.NoError(t, err)
	got, err = Fit(data)
	require.NoError(t, err)
	require.Equal(t, Picture{data, WebP, 1, 1}, got)
}

func TestOfAnAnimationTheFirstImageIsShown(t *testing.T) {
	frames := &gif.GIF{Delay: []int{1, 1}}
	for _, c := range []color.Color{color.Black, color.White} {
		frames.Image = append(frames.Image, image.NewPaletted(image.Rect(0, 0, 5, 4), color.Palette{c}))
	}
	var b bytes.Buffer
	require.NoError(t, gif.EncodeAll(&b, frames))
	got, err := Fit(b.Bytes())
	require.NoError(t, err)
	require.Equal(t, PNG, got.Type)
	picture, err := png.Decode(bytes.NewReader(got.Data))
	require.NoError(t, err)
	r, _, _, _ := picture.At(0, 0).RGBA()
	require.Zero(t, r)
}

func TestWhatIsLargeIsScaledDown(t *testing.T) {
	got, err := Fit(pngOf(t, image.NewNRGBA(image.Rect(0, 0, 3000, 1000))))
	require.NoError(t, err)
	require.Equal(t, []any{PNG, 2048, 682}, []any{got.Type, got.Width, got.Height})
	got, err = Fit(pngOf(t, noise(1000, 1000)))
	require.NoError(t, err)
	require.Equal(t, []any{JPEG, 1000, 1000}, []any{got.Type, got.Width, got.Height})
	require.Less(t, len(got.Data), 2*MaxBytes)
	got, err = Fit(pngOf(t, image.NewGray(image.Rect(0, 0, 5000, 1))))
	require.NoError(t, err)
	require.Equal(t, 1, got.Height)
}

// claiming is a PNG file that says it has these sides.
func claiming(data []byte, width, height uint32) []byte {
	data = bytes.Clone(data)
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

func TestWhatCannotBeShownIsRefused(t *testing.T) {
	small := pngOf(t, image.NewGray(image.Rect(0, 0, 10, 10)))
	for why, data := range map[string][]byte{
		"no PNG, JPEG, GIF or WebP":  []byte("<svg/>"),
		"the image is damaged":       small[:len(small)-20],
		"100000 by 100000 pixels":    claiming(small, 100_000, 100_000),
		"4096 by 8192 pixels":        claiming(small, 4096, 8192),
		"more than 20 MiB":           append(small, make([]byte, MaxInput)...),
		"it is no PNG, JPEG, GIF or": nil,
	} {
		_, err := Fit(data)
		require.ErrorContains(t, err, why)
	}
}

func FuzzFit(f *testing.F) {
	f.Add(pngOf(f, noise(4, 3)))
	data, _ := base64.StdEncoding.DecodeString(tinyWebP)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Fit(data)
		if err == nil {
			require.NotEmpty(t, got.Data)
			require.LessOrEqual(t, max(got.Width, got.Height), MaxSide)
		}
	})
}
