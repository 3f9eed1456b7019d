// This file takes the client's settings. An editor merges those of the workspace into them, so nothing is taken that
// could loosen what the user decided: no endpoint, no credential, no backend, no approval mode but a stricter one.

package lsp

import (
	"encoding/json"
	"sync"

	"go.lsp.dev/protocol"

	"sandboxagent/editors"
)

// settingsSection is the section of the client's settings that is ours.
const settingsSection = "sandboxAgent"

// settingValues are the defaults for new sessions.
type settingValues struct {
	Model        string               `json:"model"`
	ApprovalMode editors.ApprovalMode `json:"approvalMode"`
}

type settings struct {
	mu     sync.Mutex
	values settingValues
}

// set takes settings from JSON; what it cannot use counts as unset.
func (s *settings) set(raw json.RawMessage) {
	var v settingValues
	if json.Unmarshal(raw, &v) != nil {
		v = settingValues{}
	}
	if v.ApprovalMode != editors.ApprovalAsk && v.ApprovalMode != editors.ApprovalReadOnly {
		v.ApprovalMode = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = v
}

// fill adds the settings to the params of new, where these leave them open.
func (s *settings) fill(raw json.RawMessage) json.RawMessage {
	s.mu.Lock()
	v := s.values
	s.mu.Unlock()
	var fields map[string]any
	if len(raw) == 0 || string(raw) == "null" {
		fields = map[string]any{}
	} else if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw
	}
	for key, value := range map[string]string{"model": v.Model, "approvalMode": string(v.ApprovalMode)} {
		if given := fields[key]; value != "" && (given == nil || given == "") {
			fields[key] = value
		}
	}
	filled, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return filled
}

func (c *client) didChangeConfiguration(raw json.RawMessage) error {
	var p struct {
		Settings map[string]json.RawMessage `json:"settings"`
	}
	if json.Unmarshal(raw, &p) == nil && p.Settings[settingsSection] != nil {
		c.settings.set(p.Settings[settingsSection])
		return nil
	}
	c.pullSettings()
	return nil
}

// pullSettings asks the client for its settings, without waiting for the answer.
func (c *client) pullSettings() {
	if !c.can.Configuration {
		return
	}
	c.background(func() {
		ask := protocol.ConfigurationParams{Items: []protocol.ConfigurationItem{{Section: settingsSection}}}
		var answer []json.RawMessage
		if err := c.ask(c.ctx, protocol.MethodWorkspaceConfiguration, ask, &answer); err != nil {
			c.log.Info("the client's settings are not known", "error", err)
			return
		}
		if len(answer) == 1 {
			c.settings.set(answer[0])
		}
	})
}
