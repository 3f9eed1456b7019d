// This file moves text between a file and an editor, which shows it without its encoding, mark and line ends.

package patch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// TextSum names the text of a file as an editor shows it: files that differ only in encoding, byte order mark, line ends or a
// line end at their end have the same.
func TextSum(data []byte) string {
	text := strings.ReplaceAll(Text(data), "\r\n", "\n")
	sum := sha256.Sum256([]byte(strings.TrimSuffix(text, "\n")))
	return hex.EncodeToString(sum[:])
}

// Text is the text of a file as an editor shows it, with its line ends.
func Text(data []byte) string {
	text, _, ok := decode(data)
	if !ok {
		text = string(data)
	}
	return strings.TrimPrefix(text, bom)
}

// Rewrite returns the bytes that a file gets when an editor saves text in place of its content: in the same encoding, if that
// has all characters, with the same mark, and with CRLF where the file has it and the text has no such ends.
func Rewrite(file []byte, text string) []byte {
	if bytes.IndexByte(file, 0) >= 0 {
		return []byte(text)
	}
	content, enc, ok := decode(file)
	if !ok {
		return []byte(text)
	}
	if crlf := strings.Count(content, "\r\n"); crlf > 0 && crlf == strings.Count(content, "\n") && !strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if strings.HasPrefix(content, bom) && !strings.HasPrefix(text, bom) {
		text = bom + text
	}
	data, alien := enc.encode(text)
	if alien != 0 {
		return []byte(text)
	}
	return data
}
