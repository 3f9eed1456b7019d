// This file holds what is known of models that servers do not tell: how much they take, and what they cost.

package model

// PricesOf is the day on which the prices below were read from OpenAI's pages.
const PricesOf = "2026-11-29"

// DefaultWindow is the window of a model of which nothing is known, in tokens.
const DefaultWindow = 128_000

// Facts are what is known of a model.
type Facts struct {
	// Window is how many tokens of conversation are worked with. Some models take more, at a higher price for the whole call.
	Window int64
	Price  *Price // nil: not known
}

// Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input, Cached, Output float64
	CacheWrite            float64 // times Input, for what is written to the prompt cache; 0: as Input
	// LongAbove: a call with more input tokens costs LongInput times as much for input, LongOutput times for output. 0: none.
	LongAbove             int64
	LongInput, LongOutput float64
}

// long is what the models with a million tokens cost: beyond 272,000 the whole call costs more.
func long(input, cached, output, cacheWrite float64) Facts {
	return Facts{Window: 272_000, Price: &Price{
		Input: input, Cached: cached, Output: output, CacheWrite: cacheWrite, LongAbove: 272_000, LongInput: 2, LongOutput: 1.5,
	}}
}

var catalog = map[string]Facts{
	"gpt-5.6-sol":   long(4, 0.40, 20, 1.25),
	"gpt-5.6":       long(4, 0.40, 20, 1.25), // another name of the same
	"gpt-5.6-terra": long(2, 0.20, 12, 1.25),
	"gpt-5.6-luna":  long(0.20, 0.02, 1.20, 1.25),
	"gpt-5.5":       long(5, 0.50, 30, 0),
	"gpt-5.4":       long(2.50, 0.25, 15, 0),
	"gpt-5.4-mini":  {Window: 272_000, Price: &Price{Input: 0.75, Cached: 0.075, Output: 4.50}},
	DemoModel:       {Window: DefaultWindow, Price: &Price{}},
}

// cheapModel is what small jobs are given to at OpenAI.
const cheapModel = "gpt-5.6-luna"

// Cost is what a call has cost, in US dollars.
func (p Price) Cost(u Usage) float64 {
	input, output := p.Input, p.Output
	cached := p.Cached
	if p.LongAbove > 0 && u.InputTokens > p.LongAbove {
		input, cached, output = input*p.LongInput, cached*p.LongInput, output*p.LongOutput
	}
	write := input
	if p.CacheWrite > 0 {
		write *= p.CacheWrite
	}
	fresh := max(u.InputTokens-u.CachedTokens-u.CacheWriteTokens, 0)
	return (float64(fresh)*input + float64(u.CacheWriteTokens)*write + float64(u.CachedTokens)*cached + float64(u.OutputTokens)*output) / 1e6
}

// Facts returns what is known of the model id: what the options say before what the table says. The prices in the table are
// those of OpenAI itself, so they do not hold at another server.
func (r *Registry) Facts(id string) Facts {
	if id == "" {
		id = DefaultModel
	}
	f := catalog[id]
	if id != DemoModel && !r.end.openAI {
		f.Price = nil
	}
	set := r.opts.Facts[id]
	if set.Window > 0 {
		f.Window = set.Window
	}
	if set.Price != nil {
		f.Price = set.Price
	}
	if f.Window == 0 {
		f.Window = DefaultWindow
	}
	return f
}

// Cheap returns the model for small jobs of a session that uses the model id.
func (r *Registry) Cheap(id string) string {
	if id != DemoModel && r.end.openAI {
		return cheapModel
	}
	return id
}
