// This file reads and shows budgets.

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sandboxagent/editors"
)

// bound is one bound of a budget as people give it.
type bound struct {
	name string
	set  func(b *editors.Budget, text string) error
	show func(b editors.Budget) string // "" for none
}

func bounds() []bound {
	return []bound{
		countBound("turn-calls", func(b *editors.Budget) *int64 { return &b.TurnCalls }),
		countBound("turn-tokens", func(b *editors.Budget) *int64 { return &b.TurnTokens }),
		costBound("turn-cost", func(b *editors.Budget) *float64 { return &b.TurnCost }),
		timeBound("turn-time", func(b *editors.Budget) *int64 { return &b.TurnSeconds }),
		countBound("tokens", func(b *editors.Budget) *int64 { return &b.Tokens }),
		costBound("cost", func(b *editors.Budget) *float64 { return &b.Cost }),
		timeBound("time", func(b *editors.Budget) *int64 { return &b.Seconds }),
	}
}

func countBound(name string, field func(*editors.Budget) *int64) bound {
	return bound{name, func(b *editors.Budget, text string) (err error) {
		*field(b), err = strconv.ParseInt(text, 10, 64)
		return err
	}, func(b editors.Budget) string {
		if n := *field(&b); n != 0 {
			return strconv.FormatInt(n, 10)
		}
		return ""
	}}
}

func costBound(name string, field func(*editors.Budget) *float64) bound {
	return bound{name, func(b *editors.Budget, text string) (err error) {
		*field(b), err = strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
		return err
	}, func(b editors.Budget) string {
		if n := *field(&b); n != 0 {
			return "$" + strconv.FormatFloat(n, 'f', -1, 64)
		}
		return ""
	}}
}

func timeBound(name string, field func(*editors.Budget) *int64) bound {
	return bound{name, func(b *editors.Budget, text string) error {
		d, err := time.ParseDuration(text)
		*field(b) = int64(d / time.Second)
		return err
	}, func(b editors.Budget) string {
		if n := *field(&b); n != 0 {
			return (time.Duration(n) * time.Second).String()
		}
		return ""
	}}
}

func budgetNames() []string {
	var names []string
	for _, b := range bounds() {
		names = append(names, b.name)
	}
	return names
}

// parseBudget reads name=value pairs parted by commas; "" leaves the budget, none lifts it.
func parseBudget(text string) (*editors.Budget, error) {
	if text == "" {
		return nil, nil
	}
	var budget editors.Budget
	if text == "none" {
		return &budget, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if err := setBound(&budget, name, value); err != nil {
			return nil, err
		}
	}
	return &budget, nil
}

func setBound(budget *editors.Budget, name, value string) error {
	for _, b := range bounds() {
		if b.name != name {
			continue
		}
		if err := b.set(budget, value); err != nil {
			return usagef("--budget: %q is no value of %s; give a number, or a duration such as 30m for a time", value, name)
		}
		return nil
	}
	return usagef("--budget: there is no bound %q; give some of %s, or none", name, strings.Join(budgetNames(), ", "))
}

// budgetOf shows the budget of a session, if it has one.
func budgetOf(s editors.Session) string {
	if s.Budget == nil {
		return ""
	}
	var parts []string
	for _, b := range bounds() {
		if value := b.show(*s.Budget); value != "" {
			parts = append(parts, b.name+"="+value)
		}
	}
	if len(parts) == 0 {
		return ", no budget"
	}
	return fmt.Sprintf(", budget %s", strings.Join(parts, ","))
}
