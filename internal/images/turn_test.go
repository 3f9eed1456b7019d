package images

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/require"
)

// withExif puts an orientation into a JPEG.
func withExif(data []byte, order binary.AppendByteOrder, orientation uint16) []byte {
	tiff := []byte("MM\x00*")
	if order == binary.LittleEndian {
		tiff = []byte("II*\x00")
	}
	tiff = order.AppendUint16(order.AppendUint32(tiff, 8), 2)
	for _, entry := range [][2]uint16{{0x010f, 7}, {orientationTag, orientation}} {
		tiff = order.AppendUint16(order.AppendUint16(tiff, entry[0]), 3)
		tiff = order.AppendUint16(order.AppendUint32(tiff, 1), entry[1])
		tiff = append(tiff, 0, 0)
	}
	tiff = order.AppendUint32(tiff, 0)
	segment := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{}, data[:2]...)
	out = append(out, 0xff, 0xe0, 0, 4, 'x', 'x', 0xff, 0xe1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(segment)+2))
	return append(append(out, segment...), data[2:]...)
}

// corner is a white picture that is dark at its upper left.
func corner(width, height int) []byte {
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = 255
	}
	for y := range height / 4 {
		for x := range width / 4 {
			picture.SetGray(x, y, color.Gray{})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture, nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestPhotographsAreTurnedUpright(t *testing.T) {
	type point struct{ right, low bool }
	where := map[uint16]point{
		1: {}, 2: {right: true}, 3: {right: true, low: true}, 4: {low: true},
		5: {}, 6: {right: true}, 7: {right: true, low: true}, 8: {low: true},
	}
	for orientation, dark := range where {
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			width := 160
			if orientation == 6 && order == binary.LittleEndian {
				width = 2 * MaxSide
			}
			got, err := Fit(withExif(corner(width, width/2), order, orientation))
			require.NoError(t, err)
			wide, high := min(width, MaxSide), min(width, MaxSide)/2
			if orientation >= 5 {
				wide, high = high, wide
			}
			require.Equal(t, []int{wide, high}, []int{got.Width, got.Height}, "%d", orientation)
			picture, _, err := image.Decode(bytes.NewReader(got.Data))
			require.NoError(t, err)
			for _, p := range []point{{}, {right: true}, {low: true}, {right: true, low: true}} {
				x, y := wide/10, high/10
				if p.right {
					x = wide - 1 - x
				}
				if p.low {
					y = high - 1 - y
				}
				level, _, _, _ := picture.At(x, y).RGBA()
				require.Equal(t, p == dark, level < 0x8000, "orientation %d at %v", orientation, p)
			}
		}
	}
}

func TestDamagedExifTurnsNothing(t *testing.T) {
	whole := withExif(corner(16, 8), binary.BigEndian, 6)
	exif := bytes.Index(whole, []byte("Exif"))
	for end := range exif + 60 {
		require.Contains(t, []int{1, 6}, orientation(whole[:end]))
	}
	for i := range exif + 50 {
		bent := bytes.Clone(whole)
		bent[i] ^= 0xff
		got := orientation(bent)
		require.True(t, got >= 1 && got <= 8)
	}
	for _, o := range []uint16{0, 1, 9, 65535} {
		data := withExif(corner(16, 8), binary.LittleEndian, o)
		got, err := Fit(data)
		require.NoError(t, err)
		require.Equal(t, Picture{data, JPEG, 16, 8}, got)
	}
}
