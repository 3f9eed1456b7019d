// This file compacts conversations as the Responses API does.

package modeltest

import (
	"fmt"
	"net/http"
)

// compact answers with the user's messages and one item that only this server can read.
func (s *Server) compact(w http.ResponseWriter, rec Recorded, body []byte) {
	r, e := parseRequest(wireResponses, body)
	if e == nil && r.stream {
		e = invalid("stream", "Unknown parameter: 'stream'.")
	}
	if e != nil {
		s.refuse(w, rec, e)
		return
	}
	s.record(rec)
	var output []object
	for n, i := range r.items {
		if i.role == "user" {
			output = append(output, object{
				"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "user", "status": "completed",
				"content": []object{{"type": "input_text", "text": i.text}},
			})
		}
	}
	output = append(output, object{"id": "cmp_1", "type": "compaction", "encrypted_content": sealed + "compaction"})
	writeJSON(w, http.StatusOK, object{
		"id": "resp_cmp", "object": "response.compaction", "created_at": 1750000000, "output": output,
		"usage": object{"input_tokens": len(body) / 4, "output_tokens": 100, "total_tokens": len(body)/4 + 100},
	})
}
