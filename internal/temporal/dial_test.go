// These tests exist to hold the connection's rules against a stand-in server: what is refused before it is sent, what
// is reported after it was acknowledged, and what a failed attempt says.

package temporal

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// standIn answers GetSystemInfo; every other call is counted and fails with errReached.
type standIn struct {
	workflowservice.UnimplementedWorkflowServiceServer
	reached atomic.Int32
}

var errReached = status.Error(codes.NotFound, "reached the stand-in")

func (s *standIn) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func dialStandIn(t *testing.T, o Options) (client.Client, *standIn) {
	t.Helper()
	s := &standIn{}
	srv := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if _, ok := req.(*workflowservice.GetSystemInfoRequest); ok {
			return next(ctx, req)
		}
		s.reached.Add(1)
		return nil, errReached
	}))
	workflowservice.RegisterWorkflowServiceServer(srv, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	p, err := Resolve(t.Context(), ResolveOptions{Address: l.Addr().String(), Env: environment{"TEMPORAL_CONFIG_FILE": "/dev/null"}})
	require.NoError(t, err)
	c, err := Dial(t.Context(), p, o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, s
}

func TestLargeArgumentsAreNotSent(t *testing.T) {
	c, s := dialStandIn(t, Options{MaxArgument: 1000})
	start := client.StartWorkflowOptions{ID: "w", TaskQueue: "q", WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}
	calls := map[string]func(ctx context.Context, arg string) error{
		"start": func(ctx context.Context, arg string) error {
			_, err := c.ExecuteWorkflow(ctx, start, "flow", arg)
			return err
		},
		"signal": func(ctx context.Context, arg string) error { return c.SignalWorkflow(ctx, "w", "", "s", arg) },
		"signal with start": func(ctx context.Context, arg string) error {
			_, err := c.SignalWithStartWorkflow(ctx, "w", "s", arg, start, "flow")
			return err
		},
		"query": func(ctx context.Context, arg string) error {
			_, err := c.QueryWorkflow(ctx, "w", "", "q", arg)
			return err
		},
		"update": func(ctx context.Context, arg string) error {
			_, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
				WorkflowID: "w", UpdateName: "u", Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
			})
			return err
		},
		"update with start": func(ctx context.Context, arg string) error {
			_, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
				StartWorkflowOperation: c.NewWithStartWorkflowOperation(start, "flow", arg),
				UpdateOptions:          client.UpdateWorkflowOptions{WorkflowID: "w", UpdateName: "u", WaitForStage: client.WorkflowUpdateStageCompleted},
			})
			return err
		},
		"activity": func(ctx context.Context, arg string) error {
			_, err := c.ExecuteActivity(ctx, client.StartActivityOptions{ID: "a", TaskQueue: "q", StartToCloseTimeout: time.Second}, "act", arg)
			return err
		},
	}
	// Random-looking text, so that compression does not make it small.
	var large strings.Builder
	for i := uint32(1); large.Len() < 4000; i++ {
		large.WriteByte('!' + byte(i*2654435761>>24)%90)
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			before := s.reached.Load()
			err := call(ctx, large.String())
			var tooLarge *PayloadTooLargeError
			require.ErrorAs(t, err, &tooLarge)
			require.Greater(t, tooLarge.Size, tooLarge.Limit)
			require.Equal(t, 1000, tooLarge.Limit)
			require.NotEmpty(t, tooLarge.Operation)
			require.Equal(t, before, s.reached.Load(), "nothing is sent")

			err = call(ctx, strings.Repeat("compresses well ", 1000))
			require.ErrorContains(t, err, "reached the stand-in")
			require.Greater(t, s.reached.Load(), before)
		})
	}
}

func TestLargeResultFailsForGood(t *testing.T) {
	dc, err := NewDataConverter(nil)
	require.NoError(t, err)
	guard := &sizeGuard{maxResult: 100, converter: dc}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{guard}})
	result := func(_ context.Context, n int) ([]byte, error) { return make([]byte, n), nil }
	env.RegisterActivity(result)
	_, err = env.ExecuteActivity(result, 10)
	require.NoError(t, err)

	guard.maxResult = 10
	_, err = env.ExecuteActivity(result, 200)
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.True(t, failure.NonRetryable())
	require.Equal(t, ErrTypePayloadTooLarge, failure.Type())
}

func TestCompletionsAreReportedAfterTheyAreDurable(t *testing.T) {
	var got []string
	watch := watchCompletions(func(id string) { got = append(got, id) })
	call := func(req any, result error) {
		err := watch(t.Context(), "m", req, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			require.Empty(t, got, "not before the server answered")
			return result
		})
		require.Equal(t, result, err)
	}
	call(&workflowservice.RespondWorkflowTaskCompletedRequest{ResourceId: "workflow:a"}, errors.New("lost"))
	call(&workflowservice.RespondWorkflowTaskCompletedRequest{ResourceId: "workflow:a", IntermediatePage: true}, nil)
	call(&workflowservice.RespondActivityTaskCompletedRequest{}, nil)
	require.Empty(t, got)
	call(&workflowservice.RespondWorkflowTaskCompletedRequest{ResourceId: "workflow:session/1"}, nil)
	require.Equal(t, []string{"session/1"}, got)
	got = nil
	call(&workflowservice.RespondWorkflowTaskCompletedRequest{}, nil)
	require.Equal(t, []string{""}, got)
}

func TestUnavailableSaysWhatWasTried(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	p, err := Resolve(t.Context(), ResolveOptions{Env: environment{"TEMPORAL_ADDRESS": address, "TEMPORAL_CONFIG_FILE": "/dev/null"}})
	require.NoError(t, err)
	began := time.Now()
	_, err = Dial(t.Context(), p, Options{})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, address)
	require.ErrorContains(t, err, "TEMPORAL_ADDRESS")
	require.Less(t, time.Since(began), DefaultDialTimeout)

	p, err = Resolve(t.Context(), ResolveOptions{StateDir: t.TempDir(), Embedded: true})
	require.NoError(t, err)
	_, err = Dial(t.Context(), p, Options{})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "has not been started")
}

func TestSilentServerIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	require.NoError(t, err)
	defer l.Close()
	p, err := Resolve(t.Context(), ResolveOptions{Address: l.Addr().String(), Env: environment{"TEMPORAL_CONFIG_FILE": "/dev/null"}})
	require.NoError(t, err)
	_, err = Dial(t.Context(), p, Options{Timeout: 200 * time.Millisecond})
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestIsUnavailable(t *testing.T) {
	require.True(t, IsUnavailable(serviceerror.NewUnavailable("x")))
	require.True(t, IsUnavailable(context.DeadlineExceeded))
	require.True(t, IsUnavailable(status.Error(codes.Unavailable, "x")))
	require.False(t, IsUnavailable(nil))
	require.False(t, IsUnavailable(context.Canceled))
	require.False(t, IsUnavailable(serviceerror.NewNotFound("x")))
	require.False(t, IsUnavailable(serviceerror.NewPermissionDenied("x", "")))
}
