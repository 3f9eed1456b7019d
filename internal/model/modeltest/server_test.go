// This file tests that the scripted server is as strict as the real API, chooses rules by the request, and runs on its own.

package modeltest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/model/modeltest"
)

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(data)
}

func hello() modeltest.Script {
	return modeltest.Script{Rules: []modeltest.Rule{{Name: "hello", Respond: modeltest.Answer{Text: "hello"}}}}
}

const userItem = `{"role":"user","content":"x"}`

func TestResponsesRequestsAreChecked(t *testing.T) {
	t.Parallel()
	url := modeltest.Start(t, hello()).URL + "/responses"
	for body, says := range map[string]string{
		`{`:                                "could not parse",
		"{\"model\":\"m\xff\"}":            "could not parse",
		`{"model":"m","input":"a\u0000b"}`: "could not parse",
		`{"input":"x"}`:                    "model parameter",
		`{"model":"m"}`:                    "'input'",
		`{"model":"m","input":[]}`:         "'input'",
		`{"model":"m","input":"x","messages":[]}`:                                                                               "Unknown parameter: 'messages'",
		`{"model":"m","input":"x","prompt_cache_key":"` + strings.Repeat("k", 65) + `"}`:                                        "string too long",
		`{"model":"m","input":"x","tools":[{"type":"function","name":"a b","parameters":{}}]}`:                                  "Invalid tool name",
		`{"model":"m","input":"x","tools":[{"type":"function","name":"a"}]}`:                                                    "parameters",
		`{"model":"m","input":[{"type":"new"}]}`:                                                                                "Invalid value: 'new'",
		`{"model":"m","input":[` + userItem + `,{"type":"function_call_output","call_id":"c","output":""}]}`:                    "No tool call found",
		`{"model":"m","input":[` + userItem + `,{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}]}`:           "No tool output found for function call c",
		`{"model":"m","input":[` + userItem + `,{"type":"function_call","call_id":"c","name":"n"}]}`:                            "Missing required",
		`{"model":"m","input":[` + userItem + `,{"type":"reasoning","id":"rs_1","summary":[]}]}`:                                "not persisted",
		`{"model":"m","input":[` + userItem + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}]}`:     "could not be verified",
		`{"model":"m","input":[` + userItem + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed:1"}]}`: "without its required following item",
	} {
		status, answer := post(t, url, body)
		require.GreaterOrEqual(t, status, 400, body)
		require.Contains(t, answer, says, body)
	}
}

func TestChatRequestsAreChecked(t *testing.T) {
	t.Parallel()
	url := modeltest.Start(t, hello()).URL + "/chat/completions"
	call := `{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]}`
	for body, says := range map[string]string{
		`{"model":"m","messages":[]}`:                                                 "empty array",
		`{"model":"m","messages":[` + userItem + `],"input":1}`:                       "Unknown parameter",
		`{"model":"m","messages":[` + userItem + `],"stream_options":{}}`:             "only allowed when 'stream'",
		`{"model":"m","messages":[{"role":"robot"}]}`:                                 "'robot'",
		`{"model":"m","messages":[{"role":"assistant"}]}`:                             "'content'",
		`{"model":"m","messages":[` + call + `]}`:                                     "did not have response messages: c",
		`{"model":"m","messages":[` + call + `,` + userItem + `]}`:                    "did not have response messages: c",
		`{"model":"m","messages":[{"role":"tool","tool_call_id":"c","content":"x"}]}`: "must be a response",
		`{"model":"m","messages":[` + strings.Replace(call, "{}", "{", 1) + `]}`:      "invalid parameter of a tool call",
	} {
		status, answer := post(t, url, body)
		require.Equal(t, 400, status, body)
		require.Contains(t, answer, says, body)
	}
}

func TestRulesSeeTheConversation(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	server := modeltest.Start(t, modeltest.Script{Rules: []modeltest.Rule{
		{Match: modeltest.Match{Turn: &two}, Respond: modeltest.Answer{Text: "second turn"}},
		{Match: modeltest.Match{Step: &one, LastTool: "n", LastToolResult: "42"}, Respond: modeltest.Answer{Text: "saw {{lastToolResult}}"}},
		{Match: modeltest.Match{LastUser: "blue", Instructions: "kind"}, Respond: modeltest.Answer{Text: "kind and blue"}},
		{Match: modeltest.Match{Contains: "needle"}, Respond: modeltest.Answer{Text: "found"}},
		{Match: modeltest.Match{Model: "other"}, Respond: modeltest.Answer{Text: "other"}},
	}})
	call := `{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"is 42"}`
	for body, want := range map[string]string{
		`{"model":"m","input":[` + userItem + `,{"role":"assistant","content":"y"},` + userItem + `]}`: "second turn",
		`{"model":"m","input":[` + userItem + `,` + call + `]}`:                                        "saw is 42",
		`{"model":"m","instructions":"be kind","input":"blue"}`:                                        "kind and blue",
		`{"model":"m","input":"a needle"}`:                                                             "found",
		`{"model":"other","input":"x"}`:                                                                "other",
	} {
		status, answer := post(t, server.URL+"/responses", body)
		require.Equal(t, 200, status, answer)
		require.Contains(t, answer, want)
	}
	status, answer := post(t, server.URL+"/responses", `{"model":"m","input":"x"}`)
	require.Equal(t, 400, status)
	require.Contains(t, answer, "No rule of the script matches")
}

func TestFaultTimesAreCounted(t *testing.T) {
	t.Parallel()
	s := hello()
	s.Rules[0].Fault = &modeltest.Fault{Times: 2, Status: 503}
	server := modeltest.Start(t, s)
	for _, want := range []int{503, 503, 200, 200} {
		status, _ := post(t, server.URL+"/responses", `{"model":"m","input":"x"}`)
		require.Equal(t, want, status)
	}
	require.Len(t, server.Requests(), 4)
	require.Equal(t, "hello", server.Requests()[3].Rule)
}

func TestWrongKeyAndRecord(t *testing.T) {
	t.Parallel()
	s := hello()
	s.Key = "sk-right"
	server := modeltest.Start(t, s)
	status, answer := post(t, server.URL+"/responses", `{"model":"m","input":"x"}`)
	require.Equal(t, 401, status)
	require.Contains(t, answer, "invalid_api_key")
	require.False(t, server.Requests()[0].HasKey)
	require.JSONEq(t, `{"model":"m","input":"x"}`, string(server.Requests()[0].Body))
}

func TestScriptsAreChecked(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{``, `{}`, `{"rules":[{"respnd":{}}]}`, `{"rules":[{"respond":{"toolCalls":[{"name":"x"}]}}]}`, `{"rules":[{"fault":{"malformed":"very"}}]}`} {
		_, err := modeltest.Parse([]byte(wrong))
		require.Error(t, err, wrong)
	}
	files, err := filepath.Glob("../../../testdata/models/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		_, err := modeltest.Load(file)
		require.NoError(t, err, file)
	}
}

func TestStandalone(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "scripted-model")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/scripted-model").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), binary, "--script", "../../../testdata/models/basic.json")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	var printed struct {
		BaseURL string `json:"baseURL"`
	}
	require.NoError(t, json.Unmarshal(line, &printed))
	_, answer := post(t, printed.BaseURL+"/responses", `{"model":"m","input":"hi"}`)
	require.Contains(t, answer, "You said: hi (turn 1).")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())

	wrong := exec.CommandContext(t.Context(), binary)
	var stderr bytes.Buffer
	wrong.Stderr = &stderr
	require.Error(t, wrong.Run())
	require.Contains(t, stderr.String(), "--script FILE")
}
