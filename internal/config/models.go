// This file reads what the user says of models: their windows and prices.

package config

import (
	"maps"
	"slices"

	"sandboxagent/editors"
)

// Model is what is said of one model. Zero values leave what is known of it.
type Model struct {
	Window int64  // tokens of conversation to work with
	Price  *Price // nil: as known
}

// Price is in US dollars per million tokens.
type Price struct {
	Input, Cached, Output float64 // Cached: input that the provider had in its cache
}

// minWindow is the smallest window that leaves room for work beside the instructions and the tools.
const minWindow = 8000

// applyModels reads [models."name"] tables with window, input, cached_input and output.
func (f *tomlFile) applyModels(c *Config, table map[string]any) error {
	c.Models = map[string]Model{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fields, ok := table[name].(map[string]any)
		if !ok {
			return editors.Errorf(editors.CodeInvalidParams, "%s: models.%s must be a table, as in [models.%q].", f.at("models"), name, name)
		}
		m, err := f.model(c, name, fields)
		if err != nil {
			return err
		}
		c.Models[name] = m
	}
	return nil
}

func (f *tomlFile) model(c *Config, name string, fields map[string]any) (Model, error) {
	var m Model
	var p Price
	prices := map[string]*float64{"input": &p.Input, "cached_input": &p.Cached, "output": &p.Output}
	priced := 0
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		n, isNumber := number(fields[key])
		switch price := prices[key]; {
		case key == "window" && isNumber && n >= minWindow:
			m.Window = int64(n)
		case key == "window":
			return m, f.modelError(name, key, "a number of tokens, at least 8000")
		case price == nil && looksSecret(key):
			return m, f.applyKey(c, "models."+name+"."+key, fields[key])
		case price == nil:
			f.warnings = append(f.warnings, Warning{File: f.path, Line: f.lines["models"], Key: key, Message: "unknown key " + key + " of model " + name + " is ignored"})
		case !isNumber || n < 0:
			return m, f.modelError(name, key, "US dollars per million tokens")
		default:
			*price = n
			priced++
		}
	}
	_, hasInput := fields["input"]
	_, hasOutput := fields["output"]
	switch {
	case priced == 0:
		return m, nil
	case !hasInput || !hasOutput:
		return m, f.modelError(name, "input and output", "given together, since a part of a price would give a wrong cost")
	}
	if _, has := fields["cached_input"]; !has {
		p.Cached = p.Input
	}
	m.Price = &p
	return m, nil
}

func (f *tomlFile) modelError(name, key, expect string) error {
	return editors.Errorf(editors.CodeInvalidParams, "%s: %s of model %s must be %s.", f.at("models"), key, name, expect)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
