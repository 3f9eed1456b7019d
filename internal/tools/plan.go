// This file is the tool by which the model keeps a list of what is to do, for itself and for the user to see.

package tools

import (
	"fmt"
	"strings"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
)

const (
	maxSteps    = 50
	maxStepText = 500 // bytes
)

// planArgs are the arguments of update_plan.
type planArgs struct {
	Plan []planStep `json:"plan"`
}

type planStep struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

var planMarks = map[string]string{"pending": "☐", "in_progress": "▸", "completed": "✔"}

// runPlan runs update_plan. The plan is the call itself: nothing else is kept.
func runPlan(call Call) (Result, error) {
	var args planArgs
	if err := decode(call, &args); err != nil {
		return Result{}, err
	}
	if len(args.Plan) == 0 || len(args.Plan) > maxSteps {
		return Result{}, sandbox.Errorf(sandbox.ClassInvalid, updatePlan, "a plan has 1 to %d steps", maxSteps)
	}
	for i, s := range args.Plan {
		switch {
		case strings.TrimSpace(s.Step) == "" || len(s.Step) > maxStepText:
			return Result{}, sandbox.Errorf(sandbox.ClassInvalid, updatePlan, "step %d must have a text of at most %d bytes", i+1, maxStepText)
		case planMarks[s.Status] == "":
			return Result{}, sandbox.Errorf(sandbox.ClassInvalid, updatePlan, "the status of step %d must be pending, in_progress or completed", i+1)
		}
	}
	return Result{ForModel: "The plan is shown to the user.", Status: editors.ItemCompleted}, nil
}

// planSubject is the plan in one line: how far it is, and each step.
func planSubject(args planArgs) string {
	done := 0
	var steps []string
	for _, s := range args.Plan {
		if s.Status == "completed" {
			done++
		}
		steps = append(steps, planMarks[s.Status]+" "+strings.TrimSpace(s.Step))
	}
	return fmt.Sprintf("plan %d/%d: %s", done, len(args.Plan), strings.Join(steps, " · "))
}

// PlanText writes the arguments of update_plan as a list, one step a line; "" when they are none.
func PlanText(arguments string) string {
	args, err := parse[planArgs](Call{Name: updatePlan, Arguments: arguments})
	if err != nil {
		return ""
	}
	var lines []string
	for _, s := range args.Plan {
		lines = append(lines, planMarks[s.Status]+" "+strings.TrimSpace(s.Step))
	}
	return strings.Join(lines, "\n")
}
