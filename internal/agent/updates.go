// This file holds the update handlers and their validators: each is idempotent by request id and answers at admission.

package agent

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sandboxagent/editors"
	"sandboxagent/internal/policy"
)

// interruptPatience bounds how long an interrupt waits to tell how the turn ended.
const interruptPatience = 8 * time.Second

func refuse(kind, format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), kind, nil)
}

func (s *session) register(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryView, s.view); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, QueryTold, s.toldNext); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, QueryRules, func() ([]policy.Rule, error) { return s.Rules, nil }); err != nil {
		return err
	}
	updates := []struct {
		name      string
		handler   any
		validator any
	}{
		{UpdateAsk, s.ask, s.validateAsk},
		{UpdateSteer, s.steer, s.validateSteer},
		{UpdateInterrupt, s.interrupt, s.validateInterrupt},
		{UpdateStop, s.stopCommand, s.validateStop},
		{UpdateQueue, s.editQueue, s.validateQueue},
		{UpdateAnswer, s.answer, s.validateAnswer},
		{UpdateForget, s.forgetRule, s.validateForget},
		{UpdateConfigure, s.configure, s.validateConfigure},
		{UpdateCompact, s.compactSoon, s.validateCompact},
		{UpdatePause, s.pause, s.validatePause},
		{UpdateDestroy, s.destroy, s.validateDestroy},
		{UpdateSwitch, s.switchBackend, s.validateSwitch},
		{UpdateRestore, s.restore, s.validateRestore},
		{UpdateAdopt, s.adopt, s.validateAdopt},
		{UpdateOffer, s.offer, s.validateOffer},
		{UpdateTaken, s.checkpointTaken, s.validateTaken},
		{UpdateForkPoint, s.forkPoint, s.validateForkPoint},
	}
	for _, u := range updates {
		if err := workflow.SetUpdateHandlerWithOptions(ctx, u.name, u.handler, workflow.UpdateHandlerOptions{Validator: u.validator}); err != nil {
			return err
		}
	}
	workflow.Go(ctx, s.listenForRenames)
	workflow.Go(ctx, s.listenForAdoptions)
	workflow.Go(ctx, s.listenForQuiet)
	return nil
}

// open refuses what a session cannot take any more, or not just now.
func (s *session) open() error {
	switch {
	case s.destroying:
		return refuse(ErrTypeDestroyed, "This session has been destroyed.")
	case s.draining:
		return refuse(ErrTypeDraining, "The session is being carried over; try again.")
	}
	return nil
}

func (s *session) validateAsk(in AskInput) error {
	var before editors.AskResult
	if s.recall(in.RequestID, &before) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	if err := checkText(in); err != nil {
		return err
	}
	bytes := len(in.Text)
	for _, a := range s.Queue {
		bytes += len(a.Text)
	}
	if len(s.Queue) >= MaxQueued || bytes > MaxQueuedBytes {
		return refuse(ErrTypeBusy, "%d requests already wait for the running turn; let it end, or remove one.", len(s.Queue))
	}
	return nil
}

func checkText(in AskInput) error {
	switch {
	case strings.TrimSpace(in.Text) == "":
		return refuse(ErrTypeInvalid, "The text is empty.")
	case !utf8.ValidString(in.Text):
		return refuse(ErrTypeInvalid, "The text is not valid UTF-8.")
	case len(in.RequestID) > editors.MaxRequestID:
		return refuse(ErrTypeInvalid, "requestId is longer than %d bytes.", editors.MaxRequestID)
	}
	return nil
}

// ask starts a turn, or queues behind the running one. A turn's id is given here and never changes.
func (s *session) ask(ctx workflow.Context, in AskInput) (editors.AskResult, error) {
	var out editors.AskResult
	if s.recall(in.RequestID, &out) {
		return out, nil
	}
	a := Ask{AskInput: in, TurnID: s.NextTurn, At: workflow.Now(ctx)}
	s.NextTurn++
	queued := s.Turn != nil || len(s.Queue) > 0 || len(s.Ops) > 0
	if !queued {
		s.openTurn(ctx, a.TurnID)
	}
	item := s.startItem(ctx, editors.Item{
		TurnID: a.TurnID, Kind: editors.UserMessage, Status: editors.ItemInProgress,
		Text: in.Text, TextBytes: in.TextBytes, Context: describe(in.Context), Queued: queued, Refs: textRefs(in.TextRef),
	})
	a.ItemID = item.ID
	if queued {
		s.Queue = append(s.Queue, a)
		s.emit(ctx, editors.Event{Type: editors.QueueChanged, Queued: s.queued()})
	} else {
		s.admit(ctx, a)
	}
	out = editors.AskResult{SessionID: s.Session.ID, TurnID: a.TurnID, ItemID: a.ItemID, Queued: queued, Seq: s.Seq}
	s.remember(in.RequestID, out)
	return out, nil
}

// describe keeps what was attached without the text, which can be long.
func describe(contexts []editors.Context) []editors.Context {
	var out []editors.Context
	for _, c := range contexts {
		c.Text = ""
		out = append(out, c)
	}
	return out
}

func textRefs(ref string) map[string]string {
	if ref == "" {
		return nil
	}
	return map[string]string{"text": ref}
}

func (s *session) validateSteer(in AskInput) error {
	var before editors.SteerResult
	if s.recall(in.RequestID, &before) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	if err := s.expectTurn(in.ExpectedTurnID); err != nil {
		return err
	}
	return checkText(in)
}

func (s *session) expectTurn(id int) error {
	switch {
	case s.Turn == nil:
		return refuse(ErrTypeConflict, "Turn %d is not running: the session is %s.", id, s.Session.State.Status)
	case s.Turn.ID != id:
		return refuse(ErrTypeConflict, "Turn %d is not running: turn %d is.", id, s.Turn.ID)
	}
	return nil
}

// steer adds a message to the running turn; the model sees it at its next call.
func (s *session) steer(ctx workflow.Context, in AskInput) (editors.SteerResult, error) {
	var out editors.SteerResult
	if s.recall(in.RequestID, &out) {
		return out, nil
	}
	item := s.startItem(ctx, editors.Item{
		TurnID: s.Turn.ID, Kind: editors.UserMessage, Status: editors.ItemInProgress, Steered: true,
		Text: in.Text, TextBytes: in.TextBytes, Context: describe(in.Context), Refs: textRefs(in.TextRef),
	})
	id := item.ID
	s.endItem(ctx, id, func(i *editors.Item) { i.Status = editors.ItemCompleted })
	s.Turn.Steers = append(s.Turn.Steers, userEntry(in))
	out = editors.SteerResult{ItemID: id, Seq: s.Seq}
	s.remember(in.RequestID, out)
	return out, nil
}

func (s *session) validateInterrupt(in editors.InterruptParams) error {
	var before editors.InterruptResult
	if s.recall(in.RequestID, &before) {
		return nil
	}
	return s.expectTurn(in.TurnID)
}

// interrupt ends the running turn and waits, for a while, to tell how it ended.
func (s *session) interrupt(ctx workflow.Context, in editors.InterruptParams) (editors.InterruptResult, error) {
	var out editors.InterruptResult
	if s.recall(in.RequestID, &out) {
		return out, nil
	}
	s.Turn.Interrupt = true
	if s.cancelWork != nil {
		s.cancelWork()
	}
	_, err := workflow.AwaitWithTimeout(ctx, interruptPatience, func() bool { return s.Turn == nil || s.Turn.ID != in.TurnID || s.draining })
	if err != nil {
		return out, err
	}
	out = editors.InterruptResult{TurnID: in.TurnID, Status: editors.TurnInterrupted, Seq: s.Seq}
	s.remember(in.RequestID, out)
	return out, nil
}

func (s *session) validateConfigure(in editors.ConfigureParams) error {
	if err := s.open(); err != nil {
		return err
	}
	if err := checkBudget(in.Budget); err != nil {
		return err
	}
	return CheckApprovalMode(in.ApprovalMode)
}

// CheckApprovalMode returns an error for a mode that does not exist; empty stands for the present one.
func CheckApprovalMode(m editors.ApprovalMode) error {
	switch m {
	case "", editors.ApprovalAsk, editors.ApprovalAuto, editors.ApprovalNever, editors.ApprovalReadOnly:
		return nil
	}
	return refuse(ErrTypeInvalid, "approvalMode is %q; it must be ask, auto, never or readOnly.", m)
}

func (s *session) configure(ctx workflow.Context, in editors.ConfigureParams) (editors.SessionResult, error) {
	changed := in.Model != "" && in.Model != s.Session.Model || in.Effort != "" && in.Effort != s.Session.Effort ||
		in.ApprovalMode != "" && in.ApprovalMode != s.Session.ApprovalMode || in.Budget != nil
	if in.Model != "" {
		s.Session.Model = in.Model
	}
	if in.Effort != "" {
		s.Session.Effort = in.Effort
	}
	remode := in.ApprovalMode != "" && in.ApprovalMode != s.Session.ApprovalMode
	if remode {
		s.Session.ApprovalMode = in.ApprovalMode
	}
	if in.Budget != nil {
		s.setBudget(*in.Budget)
	}
	if changed {
		s.sessionUpdated(ctx)
	}
	if remode {
		s.rejudge(ctx, decidedByMode)
	}
	return editors.SessionResult{Session: s.Session, Seq: s.Seq}, nil
}

func (s *session) validatePause(editors.SessionParams) error { return s.open() }

// pause keeps the session for later. A running turn goes on; the session counts as paused when it has ended.
func (s *session) pause(ctx workflow.Context, _ editors.SessionParams) (SeqResult, error) {
	s.Paused = true
	if s.Turn == nil && len(s.Ops) == 0 {
		s.rest(ctx)
	}
	return SeqResult{Seq: s.Seq}, nil
}

func (s *session) validateDestroy(editors.SessionParams) error {
	if s.draining {
		return s.open()
	}
	return nil
}

// destroy ends the session and answers when it is gone. Repeating it is harmless.
func (s *session) destroy(ctx workflow.Context, _ editors.SessionParams) (DestroyOutput, error) {
	s.destroying = true
	if s.cancelWork != nil {
		s.cancelWork()
	}
	err := workflow.Await(ctx, func() bool { return s.gone })
	return DestroyOutput{Remains: s.remains, Seq: s.Seq}, err
}

func (s *session) rename(ctx workflow.Context, in RenameSignal) {
	var done bool
	title := CleanTitle(in.Title)
	if s.recall(in.RequestID, &done) || title == "" {
		return
	}
	s.remember(in.RequestID, true)
	s.Session.Title, s.Session.TitleSource = title, editors.TitleUser
	s.sessionUpdated(ctx)
}

// CleanTitle makes one line of at most editors.MaxTitleRunes out of a title.
func CleanTitle(title string) string {
	title = strings.Join(strings.Fields(strings.ToValidUTF8(title, "�")), " ")
	if r := []rune(title); len(r) > editors.MaxTitleRunes {
		title = string(r[:editors.MaxTitleRunes])
	}
	return title
}
