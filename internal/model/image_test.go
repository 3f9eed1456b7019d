// This file tests how pictures reach models, and what those are told that take none.

package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model"
	"sandboxagent/internal/model/modeltest"
)

// seen is a conversation in which the user and a tool have shown pictures.
func seen() []model.Entry {
	picture := func(name, data string) []model.Image {
		return []model.Image{{Ref: "r", Type: "image/png", Width: 40, Height: 30, Name: name, Data: []byte(data)}}
	}
	return []model.Entry{
		{Kind: model.KindUser, Text: "old", Images: []model.Image{{Name: "old.png", Width: 1, Height: 2}}},
		{Kind: model.KindAssistant, Text: "hm"},
		{Kind: model.KindUser, Text: "what is this?", Images: picture("shot.png", "mine")},
		{Kind: model.KindToolCall, CallID: "c1", Name: "read_file", Arguments: "{}"},
		{Kind: model.KindToolCall, CallID: "c2", Name: "read_file", Arguments: "{}"},
		{Kind: model.KindToolResult, CallID: "c1", Text: "looked", Images: picture("other.png", "other")},
		{Kind: model.KindToolResult, CallID: "c2", Text: "read"},
	}
}

func TestPicturesAreSentInTheFormOfEachWire(t *testing.T) {
	for api, want := range map[string][]string{
		model.APIResponses: {
			`{"detail":"auto","image_url":"data:image/png;base64,bWluZQ==","type":"input_image"}`, `{"text":"what is this?","type":"input_text"}`,
			`"output":[{"text":"looked","type":"input_text"},{"image_url":"data:image/png;base64,b3RoZXI=","detail":"auto","type":"input_image"}]`,
			`"output":"read"`,
		},
		model.APIChat: {
			`{"content":[{"text":"what is this?","type":"text"},{"image_url":{"url":"data:image/png;base64,bWluZQ=="},"type":"image_url"}],"role":"user"}`,
			`{"content":"looked","tool_call_id":"c1","role":"tool"},{"content":"read","tool_call_id":"c2","role":"tool"},` +
				`{"content":[{"text":"[the images of the results above]","type":"text"},{"image_url":{"url":"data:image/png;base64,b3RoZXI="},"type":"image_url"}],"role":"user"}`,
		},
	} {
		server := modeltest.Start(t, script(modeltest.Rule{Respond: modeltest.Answer{Text: "ok"}}))
		_, err := get(t, options(server, api)).Respond(t.Context(), model.Request{Input: seen()}, func(model.Delta) {})
		require.NoError(t, err)
		sent := string(server.Requests()[0].Body)
		for _, part := range want {
			require.Contains(t, sent, part)
		}
		require.Contains(t, sent, `old\n[image \"old.png\", 1 by 2 pixels: it is not shown again]`)
	}
}

func TestAModelThatTakesNoImagesIsTold(t *testing.T) {
	onBoth(t, func(t *testing.T, api string) {
		s := script(modeltest.Rule{Respond: modeltest.Answer{Text: "ok"}})
		s.Quirks.NoImages = true
		server := modeltest.Start(t, s)
		m := get(t, options(server, api))
		for range 2 {
			_, err := m.Respond(t.Context(), model.Request{Input: seen()}, func(model.Delta) {})
			require.NoError(t, err)
		}
		requests := server.Requests()
		require.Len(t, requests, 3, "it is asked with images once")
		for _, r := range requests[1:] {
			require.NotContains(t, string(r.Body), "base64")
			require.Equal(t, 3, strings.Count(string(r.Body), "this model takes no images"))
		}
	})
	demo, err := model.New(model.Options{}).Get(model.DemoModel)
	require.NoError(t, err)
	_, err = demo.Respond(t.Context(), model.Request{Input: seen()}, func(model.Delta) {})
	require.NoError(t, err)
}

func TestPicturesCostTokens(t *testing.T) {
	require.Equal(t, int64(2), model.Image{Width: 33, Height: 1}.Tokens())
	require.Equal(t, int64(1536), model.Image{Width: 2048, Height: 2048}.Tokens())
}
