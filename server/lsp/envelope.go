// This file decodes the JSON-RPC envelope of a message and says what is wrong with one that is none.

package lsp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"go.lsp.dev/jsonrpc2"

	"sandboxagent/editors"
)

// envelope is a JSON-RPC message before anything is known about its method.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *wireError      `json:"error"`
}

// wireError is the error of a JSON-RPC response.
type wireError struct {
	Code    jsonrpc2.Code    `json:"code"`
	Message string           `json:"message"`
	Data    *json.RawMessage `json:"data,omitempty"`
}

// decodeEnvelope decodes body. With an error it returns what it knows of the message, so that the error can be sent
// to the request it belongs to.
func decodeEnvelope(body []byte) (envelope, *jsonrpc2.Error) {
	var e envelope
	if !utf8.Valid(body) {
		return e, malformed(jsonrpc2.ParseError, "The message is not valid UTF-8.")
	}
	body = bytes.TrimSpace(body)
	if !json.Valid(body) {
		return e, malformed(jsonrpc2.ParseError, "The message is not valid JSON.")
	}
	if body[0] == '[' {
		return e, invalidRequest("Batches are not part of LSP; send one message per frame.")
	}
	if body[0] != '{' {
		return e, invalidRequest("A message must be a JSON object.")
	}
	if json.Unmarshal(body, &e) != nil {
		return envelope{ID: idOf(body)}, invalidRequest("A field of the message has the wrong type.")
	}
	if string(e.ID) == "null" {
		e.ID = nil
	}
	if !validID(e.ID) {
		e.ID = nil
		return e, invalidRequest("An id must be a string or a number.")
	}
	return e, e.check()
}

func (e envelope) check() *jsonrpc2.Error {
	switch {
	case string(e.Version) != `"2.0"`:
		return invalidRequest(`The message lacks "jsonrpc": "2.0".`)
	case e.Method == nil && (e.ID == nil || e.Result == nil && e.Error == nil):
		return invalidRequest("The message has no method.")
	case e.Method != nil && *e.Method == "":
		return invalidRequest("The method is empty.")
	}
	return nil
}

// idOf returns the id of a message whose other fields could not be decoded.
func idOf(body []byte) json.RawMessage {
	var e struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(body, &e) != nil || !validID(e.ID) {
		return nil
	}
	return e.ID
}

// validID reports whether id is a string, a number or absent.
func validID(id json.RawMessage) bool {
	if len(id) == 0 {
		return true
	}
	return id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9'
}

func invalidRequest(message string) *jsonrpc2.Error {
	return malformed(jsonrpc2.InvalidRequest, message)
}

// malformed is the answer to what is no proper message, or no message that is in order now.
func malformed(code jsonrpc2.Code, message string) *jsonrpc2.Error {
	return withData(code, editors.Errorf(editors.CodeInvalidParams, "%s", message))
}
