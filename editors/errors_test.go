// This file tests what is said with errors.

package editors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
)

func TestAdviceIsInSentences(t *testing.T) {
	for _, c := range [][3]string{
		{"the image x cannot be pulled", "Choose another one.", "the image x cannot be pulled. Choose another one."},
		{"The command waits for input: vi x", "Stop it.", "The command waits for input: vi x. Stop it."},
		{"Turn 1 failed.", "Ask again.", "Turn 1 failed. Ask again."},
		{"Waiting…", "Look again.", "Waiting… Look again."},
		{"Nothing helps", "", "Nothing helps"},
		{"", "Start it.", "Start it."},
	} {
		require.Equal(t, c[2], editors.Advice(c[0], c[1]))
	}
}
