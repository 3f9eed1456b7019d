// This file turns errors into JSON-RPC errors.

package lsp

import (
	"context"
	"encoding/json"
	"errors"

	"go.lsp.dev/jsonrpc2"

	"sandboxagent/editors"
)

// Codes of LSP that jsonrpc2 does not name.
const (
	codeRequestCancelled jsonrpc2.Code = -32800
	codeRequestFailed    jsonrpc2.Code = -32803
)

// toWire returns err as a JSON-RPC error with the data that the protocol promises.
func toWire(err error) *jsonrpc2.Error {
	var wire *jsonrpc2.Error
	if errors.As(err, &wire) {
		return wire
	}
	var known *editors.Error
	if !errors.As(err, &known) {
		known = unknownError(err)
	}
	return withData(wireCode(known.Code), known)
}

func withData(code jsonrpc2.Code, e *editors.Error) *jsonrpc2.Error {
	wire := jsonrpc2.NewError(code, e.Message)
	if data, err := json.Marshal(e.ErrorData); err == nil {
		raw := json.RawMessage(data)
		wire.Data = &raw
	}
	return wire
}

func unknownError(err error) *editors.Error {
	if errors.Is(err, context.Canceled) {
		return editors.Errorf(editors.CodeCancelled, "The request was cancelled.")
	}
	return editors.Errorf(editors.CodeInternal, "%w", err)
}

func wireCode(code editors.Code) jsonrpc2.Code {
	switch code {
	case editors.CodeInvalidParams:
		return jsonrpc2.InvalidParams
	case editors.CodeCancelled:
		return codeRequestCancelled
	case editors.CodeInternal:
		return jsonrpc2.InternalError
	default:
		return codeRequestFailed
	}
}
