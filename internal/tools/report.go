// This file tells how a command ended, or that it goes on, to the model and to the person.

package tools

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sandboxagent/editors"
	"sandboxagent/internal/sandbox"
)

// report completes the result with the command's status and its output from the given offsets on.
func (f *follower) report(ctx context.Context, result Result, status sandbox.Status, from sandbox.Offsets) (Result, error) {
	if ctx.Err() != nil { // what it printed is to be told all the same
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), reportTime)
		defer cancel()
	}
	stdout, err := f.capture(ctx, sandbox.Stdout, from.Stdout, status.Total.Stdout)
	if err != nil {
		return Result{}, err
	}
	stderr, err := f.capture(ctx, sandbox.Stderr, from.Stderr, status.Total.Stderr)
	if err != nil {
		return Result{}, err
	}
	by, err := stopperOf(ctx, f.env, status)
	if err != nil {
		return Result{}, err
	}
	result = result.ended(status, by)
	f.preview(ctx, &result, stdout, stderr)
	result.ForModel = f.tell(result, status, stdout, stderr)
	return result, nil
}

// ended fills in what the status says, and which user stopped the command, if one did.
func (r Result) ended(status sandbox.Status, by string) Result {
	r.Status, r.StoppedBy = editors.ItemCompleted, by
	r.Duration = time.Since(status.Started)
	if status.State == sandbox.StateRunning {
		r.Running = true
		return r
	}
	if !status.Ended.IsZero() {
		r.Duration = status.Ended.Sub(status.Started)
	}
	if status.State == sandbox.StateLost {
		return r.unknown(orElse(status.Failure, "what supervised it died"))
	}
	code := status.ExitCode
	r.ExitCode = &code
	switch {
	case status.TimedOut:
		r.Status, r.Error = editors.ItemFailed, "timed out after "+seconds(r.Duration)
	case by != "":
		r.Status, r.Error = editors.ItemInterrupted, "stopped by "+by+" after "+seconds(r.Duration)
	case status.Killed:
		r.Status, r.Error = editors.ItemInterrupted, "killed after "+seconds(r.Duration)
	case status.Failure != "":
		r.Status, r.Error = editors.ItemFailed, status.Failure
	}
	return r
}

// preview shows the stream that says more, and keeps whatever the preview does not show whole.
func (f *follower) preview(ctx context.Context, result *Result, stdout, stderr captured) {
	shown, other := stdout, stderr
	failed := result.ExitCode != nil && *result.ExitCode != 0
	if stdout.total == 0 || failed && stderr.total > 0 {
		shown, other = stderr, stdout
	}
	if shown.total == 0 {
		return
	}
	out, whole := shown.preview()
	result.Output = &out
	if !whole {
		ref, err := f.keep(ctx, shown)
		result.kept(string(shown.stream), ref, err)
	}
	if other.total > 0 {
		ref, err := f.keep(ctx, other)
		result.kept(string(other.stream), ref, err)
	}
}

// tell puts status and output into words for the model.
func (f *follower) tell(result Result, status sandbox.Status, stdout, stderr captured) string {
	var text strings.Builder
	if result.Status == editors.ItemUnknown {
		text.WriteString(result.ForModel)
	} else {
		text.WriteString(f.how(result, status) + "\n")
	}
	text.WriteString(leftText(result, status))
	if status.Limit != "" {
		fmt.Fprintf(&text, "Its output is not complete: %s.\n", Head(status.Limit, 200))
	}
	const advice = "To see more, filter the output, or write it to a file and read that.\n"
	const spare = 256 // for what a caller puts before it
	room := MaxModelBytes - spare - text.Len() - len(advice) - len(outTitle) - len(errTitle) - 2
	outRoom, errRoom := share(room, stdout.size(), stderr.size())
	out, outCut := stdout.forModel(outRoom, f.tty)
	err, errCut := stderr.forModel(errRoom, f.tty)
	switch {
	case stdout.total == 0 && stderr.total == 0:
		text.WriteString("No output.\n")
	case stderr.total == 0:
		text.WriteString("Output:\n" + line(out))
	default:
		if stdout.total > 0 {
			text.WriteString(outTitle + line(out))
		}
		text.WriteString(errTitle + line(err))
	}
	if outCut || errCut {
		text.WriteString(advice)
	}
	return text.String()
}

const (
	outTitle = "Standard output:\n"
	errTitle = "Standard error:\n"
)

// how is the outcome, and what is known here of the command's input.
func (f *follower) how(result Result, status sandbox.Status) string {
	if !f.deaf || status.State != sandbox.StateRunning || status.WaitsSince.IsZero() {
		return outcome(result, status)
	}
	return "Still running after " + seconds(result.Duration) + " as command " + status.ID + ", and it waits for input from a terminal that it does not have. " +
		"Kill it and do in another way what it was for, or run it with tty."
}

// leftText tells what goes on of a command that has ended. What is left of one that was ended is about to end too.
func leftText(result Result, status sandbox.Status) string {
	switch ended := status.TimedOut || status.Killed || result.StoppedBy != ""; {
	case status.Left == 0 || ended:
		return ""
	case status.Left == 1:
		return "It left a process running.\n"
	}
	return fmt.Sprintf("It left %d processes running.\n", status.Left)
}

// outcome is how the command ended, in one sentence.
func outcome(result Result, status sandbox.Status) string {
	after := " after " + seconds(result.Duration)
	switch {
	case status.State == sandbox.StateRunning && !status.WaitsSince.IsZero():
		return "Still running" + after + " as command " + status.ID + ", and it waits for input. Answer it with write_stdin, or kill it and " +
			"run it so that it does not ask: with a flag such as --yes, or its input in a heredoc."
	case status.State == sandbox.StateRunning:
		return "Still running" + after + " as command " + status.ID + "; look at it, write to it or kill it with write_stdin."
	case status.TimedOut:
		return "Timed out" + after + ": it and all it started were killed. Give a longer timeout_ms, or none."
	case result.StoppedBy != "":
		return "Stopped by the user (" + result.StoppedBy + ")" + after + " with all it started."
	case status.Killed:
		return "Killed" + after + " with all it started."
	case status.Failure != "":
		return "The command could not be run: " + Head(status.Failure, 500)
	case status.Signal != "":
		return "Ended by signal " + status.Signal + " (exit code " + strconv.Itoa(status.ExitCode) + ")" + after + "." + guess(status)
	}
	return "Exit code " + strconv.Itoa(status.ExitCode) + after + "." + guess(status)
}

// guess tells why a command was killed that nobody here killed: systems end programs so when memory runs out.
func guess(status sandbox.Status) string {
	const killed = 137
	if status.ExitCode != killed {
		return ""
	}
	return " It was killed from outside, perhaps because memory ran out."
}

// share divides room between two texts: each gets half and what the other does not need of its half.
func share(room int, a, b int64) (int, int) {
	half := int64(room / 2)
	switch {
	case a <= half:
		return int(a), room - int(a)
	case b <= half:
		return room - int(b), int(b)
	}
	return int(half), room - int(half)
}

// line ends text with a line end.
func line(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// seconds writes a duration as people say it.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// thousands writes a number with separators.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
