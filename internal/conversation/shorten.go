// This file makes a conversation shorter without breaking it: calls stay with their results, old outputs go first.

package conversation

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sandboxagent/internal/model"
)

// bytesPerToken is what holds where no usage was reported.
const bytesPerToken = 4

// keptResult is what stays of an old result, in bytes.
const keptResult = 1 << 10

// Program is the Provider of entries that the program wrote and not the user.
const Program = "sandbox-agent"

// Bytes is the size of what entries tell a model.
func Bytes(entries []model.Entry) int {
	n := imageBytes(entries)
	for _, e := range entries {
		n += len(e.Text) + len(e.Arguments) + len(e.Name)
		if e.Kind == model.KindReasoning || e.Kind == model.KindCompaction {
			n += len(e.Raw)
		}
	}
	return n
}

// Tokens is about how many tokens entries are, when nobody has counted them.
func Tokens(entries []model.Entry) int64 { return int64(Bytes(entries) / bytesPerToken) }

// Split parts entries into older ones and the newest ones, which have at most keep bytes where that can be: the cut is where
// the model was about to speak or the user spoke, so that no call loses its result. What is after the last such place is never
// old.
func Split(entries []model.Entry, keep int) (old, recent []model.Entry) {
	cut := len(entries)
	for _, at := range slices.Backward(boundaries(entries)) {
		if cut < len(entries) && Bytes(entries[at:]) > keep {
			break
		}
		cut = at
	}
	if cut == len(entries) {
		cut = 0
	}
	return entries[:cut], entries[cut:]
}

// boundaries lists the places where entries can be cut.
func boundaries(entries []model.Entry) []int {
	var at []int
	open := map[string]bool{}
	for i, e := range entries {
		starts := e.Kind == model.KindUser || i > 0 && (entries[i-1].Kind == model.KindToolResult || entries[i-1].Kind == model.KindUser)
		if i > 0 && starts && len(open) == 0 && e.Kind != model.KindToolResult {
			at = append(at, i)
		}
		switch e.Kind {
		case model.KindToolCall:
			open[e.CallID] = true
		case model.KindToolResult:
			delete(open, e.CallID)
		}
	}
	return at
}

// Trim returns entries with their results cut to head and tail and told of their images in words, and without reasoning.
func Trim(entries []model.Entry) []model.Entry {
	out := make([]model.Entry, 0, len(entries))
	for _, e := range entries {
		switch e.Kind {
		case model.KindReasoning:
			continue
		case model.KindToolResult:
			e.Text, e.Images = Cut(e.Text, keptResult)+inWords(e.Images), nil
		}
		out = append(out, e)
	}
	return out
}

// Fit returns entries with at most limit bytes where that can be: the results are cut more and more, at last all texts.
func Fit(entries []model.Entry, limit int) []model.Entry {
	for most := 64 << 10; most >= keptResult && Bytes(entries) > limit; most /= 2 {
		entries = cutTexts(entries, most, func(e model.Entry) bool { return e.Kind == model.KindToolResult })
	}
	for most := 64 << 10; most >= keptResult && Bytes(entries) > limit; most /= 2 {
		entries = cutTexts(entries, most, func(e model.Entry) bool { return e.Kind != model.KindToolCall })
	}
	return entries
}

func cutTexts(entries []model.Entry, most int, which func(model.Entry) bool) []model.Entry {
	out := slices.Clone(entries)
	for i, e := range out {
		if which(e) {
			out[i].Text = Cut(e.Text, most)
		}
	}
	return out
}

// Cut returns the head and the tail of a text that has more than n bytes, and says what is left out.
func Cut(text string, n int) string {
	if len(text) <= n+64 { // what is said of the cut takes room too
		return text
	}
	head, tail := n*2/3, len(text)-n/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:head], tail-head, text[tail:])
}

// Transcript writes entries as a text of about limit bytes at most, for who has to summarise them; what is left out is in the
// middle.
func Transcript(entries []model.Entry, limit int) string {
	var b strings.Builder
	for _, e := range entries {
		switch e.Kind {
		case model.KindUser:
			who := "User"
			if e.Provider == Program {
				who = "Program"
			}
			fmt.Fprintf(&b, "## %s\n%s%s\n\n", who, e.Text, inWords(e.Images))
		case model.KindAssistant:
			fmt.Fprintf(&b, "## Agent\n%s\n\n", e.Text)
		case model.KindToolCall:
			fmt.Fprintf(&b, "## Agent calls %s\n%s\n\n", e.Name, Cut(e.Arguments, keptResult))
		case model.KindToolResult:
			fmt.Fprintf(&b, "## Result\n%s%s\n\n", Cut(e.Text, keptResult), inWords(e.Images))
		case model.KindCompaction:
			fmt.Fprintf(&b, "## What was before\n%s\n\n", e.Text)
		case model.KindReasoning:
		}
	}
	return Cut(b.String(), limit)
}
