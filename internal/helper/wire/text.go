// This file carries strings that may be any bytes, such as file names, through JSON unchanged.

package wire

import (
	"encoding/json"
	"unicode/utf8"
)

// Text is a string of any bytes. Valid UTF-8 is encoded as a JSON string, anything else as {"b64": "…"}.
type Text string

type rawText struct {
	B64 []byte `json:"b64"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawText{B64: []byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, (*string)(t))
	}
	var raw rawText
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*t = Text(raw.B64)
	return nil
}

// Texts converts strings.
func Texts(in []string) []Text {
	out := make([]Text, len(in))
	for i, s := range in {
		out[i] = Text(s)
	}
	return out
}

// Strings converts back.
func Strings(in []Text) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}
