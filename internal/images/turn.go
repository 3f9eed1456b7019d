// This file turns photographs upright: cameras write pictures as their sensor lies, and beside them how they are to be turned.

package images

import (
	"bytes"
	"encoding/binary"
	"image"
)

// upright is the orientation of what needs no turn, as Exif counts.
const upright = 1

const orientationTag = 0x0112

// orientation reads how a JPEG is to be turned, from 1 to 8; upright if it does not say, or not in a way that is understood.
func orientation(data []byte) int {
	rest := data[min(2, len(data)):]
	for len(rest) >= 4 && rest[0] == 0xff && rest[1] != 0xda { // up to the picture itself
		length := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if length < 4 || length > len(rest) {
			return upright
		}
		if exif, ok := bytes.CutPrefix(rest[4:length], []byte("Exif\x00\x00")); ok && rest[1] == 0xe1 {
			return tiffOrientation(exif)
		}
		rest = rest[length:]
	}
	return upright
}

// tiffOrientation looks for the tag in the first directory of Exif's TIFF.
func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return upright
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return upright
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return upright
		}
		if order.Uint16(entries) == orientationTag {
			if o := int(order.Uint16(entries[8:])); o > upright && o <= 8 {
				return o
			}
			return upright
		}
		entries = entries[12:]
	}
	return upright
}

// turn returns a picture as its orientation says it is to be seen.
func turn(picture image.Image, orientation int) image.Image {
	if orientation == upright {
		return picture
	}
	from := picture.Bounds()
	width, height := from.Dx(), from.Dy()
	size := image.Rect(0, 0, width, height)
	if orientation >= 5 { // its sides change places
		size = image.Rect(0, 0, height, width)
	}
	turned := image.NewNRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			px, py := source(orientation, x, y, width, height)
			turned.Set(x, y, picture.At(from.Min.X+px, from.Min.Y+py))
		}
	}
	return turned
}

// source tells which point of a picture of some width and height is seen at x, y.
func source(orientation, x, y, width, height int) (px, py int) {
	if orientation >= 5 {
		x, y = y, x
	}
	if orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8 {
		x = width - 1 - x
	}
	if orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7 {
		y = height - 1 - y
	}
	return x, y
}
