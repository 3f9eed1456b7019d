// This file measures how fast pieces of an answer pass through, by each wire.

package model

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const benchDeltas = 5000

func BenchmarkDeltas(b *testing.B) {
	streams := map[string]string{APIResponses: responsesStream(), APIChat: chatStream()}
	for _, api := range []string{APIResponses, APIChat} {
		b.Run(api, func(b *testing.B) {
			body := []byte(streams[api])
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write(body)
			}))
			defer server.Close()
			m, err := New(Options{BaseURL: server.URL, API: api}).Get("m")
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				n := 0
				if _, err := m.Respond(context.Background(), Request{Input: []Entry{{Kind: KindUser, Text: "x"}}}, func(Delta) { n++ }); err != nil || n != benchDeltas {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchDeltas, "ns/delta")
		})
	}
}

func responsesStream() string {
	var s strings.Builder
	for n := range benchDeltas {
		fmt.Fprintf(&s, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,"+
			"\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\" word\",\"logprobs\":[]}\n\n", n)
	}
	s.WriteString("event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n")
	return s.String()
}

func chatStream() string {
	var s strings.Builder
	for range benchDeltas {
		s.WriteString("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n")
	}
	s.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return s.String()
}
