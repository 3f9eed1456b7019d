// This file exists because one oversized payload blocks a whole session: the server admits it, and then every
// workflow task that carries it fails. Sizes are checked where they are still harmless.

package temporal

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// DefaultMaxArgument is 64 KiB: histories hold references, not contents.
	DefaultMaxArgument = 64 << 10
	// DefaultMaxResult is 256 KiB, the size of one page of history or output.
	DefaultMaxResult = 256 << 10
	// ErrTypePayloadTooLarge is the type of the application error of an activity whose result is too large.
	ErrTypePayloadTooLarge = "PayloadTooLarge"
)

// PayloadTooLargeError says that a request was not sent because of the size of its encoded arguments.
type PayloadTooLargeError struct {
	Operation string // what was asked, for people
	Size      int    // bytes, after compression and encryption
	Limit     int    // bytes
}

func (e *PayloadTooLargeError) Error() string {
	return fmt.Sprintf("%s carries %d bytes, more than the %d allowed; send large content by reference", e.Operation, e.Size, e.Limit)
}

// sizeGuard measures arguments in the finished gRPC request, where they are exactly what would be sent, and activity
// results before the SDK reports them. The SDK turns gRPC errors into its own, so the verdict travels around it: the
// outbound interceptor puts a slot into the context, and the gRPC interceptor fills it.
type sizeGuard struct {
	interceptor.InterceptorBase
	maxArgument, maxResult int
	converter              converter.DataConverter
}

func (g *sizeGuard) setDefaults() {
	if g.maxArgument <= 0 {
		g.maxArgument = DefaultMaxArgument
	}
	if g.maxResult <= 0 {
		g.maxResult = DefaultMaxResult
	}
}

type verdictKey struct{}

// guarded runs call and returns the guard's verdict in place of the SDK's translation of it.
func guarded[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	var verdict *PayloadTooLargeError
	result, err := call(context.WithValue(ctx, verdictKey{}, &verdict))
	if err != nil && verdict != nil {
		return result, verdict
	}
	return result, err
}

// checkRequest is the gRPC interceptor; requests of workers pass.
func (g *sizeGuard) checkRequest(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	operation, size := argumentSize(req)
	if size <= g.maxArgument {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	err := &PayloadTooLargeError{Operation: operation, Size: size, Limit: g.maxArgument}
	if slot, ok := ctx.Value(verdictKey{}).(**PayloadTooLargeError); ok {
		*slot = err
	}
	return status.Error(codes.InvalidArgument, err.Error()) // a code the SDK does not retry
}

// argumentSize names the request and adds up the arguments it carries, 0 for requests that carry none.
func argumentSize(req any) (operation string, size int) {
	switch r := req.(type) {
	case *workflowservice.StartWorkflowExecutionRequest:
		return "starting workflow " + r.GetWorkflowType().GetName(), payloadSize(r.Input)
	case *workflowservice.SignalWorkflowExecutionRequest:
		return "signal " + r.SignalName, payloadSize(r.Input)
	case *workflowservice.SignalWithStartWorkflowExecutionRequest:
		return "signal " + r.SignalName, payloadSize(r.Input, r.SignalInput)
	case *workflowservice.UpdateWorkflowExecutionRequest:
		in := r.GetRequest().GetInput()
		return "update " + in.GetName(), payloadSize(in.GetArgs())
	case *workflowservice.QueryWorkflowRequest:
		return "query " + r.GetQuery().GetQueryType(), payloadSize(r.GetQuery().GetQueryArgs())
	case *workflowservice.StartActivityExecutionRequest:
		return "starting activity " + r.GetActivityType().GetName(), payloadSize(r.Input)
	case *workflowservice.ExecuteMultiOperationRequest:
		for _, op := range r.Operations {
			name, n := argumentSize(op.GetUpdateWorkflow())
			if op.GetStartWorkflow() != nil {
				name, n = argumentSize(op.GetStartWorkflow())
			}
			operation, size = name, size+n
		}
	}
	return operation, size
}

func payloadSize(payloads ...*commonpb.Payloads) (n int) {
	for _, p := range payloads {
		n += proto.Size(p)
	}
	return n
}

// InterceptClient implements interceptor.ClientInterceptor.
func (g *sizeGuard) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	return &guardedClient{ClientOutboundInterceptorBase: interceptor.ClientOutboundInterceptorBase{Next: next}}
}

type guardedClient struct {
	interceptor.ClientOutboundInterceptorBase
}

func (c *guardedClient) ExecuteWorkflow(ctx context.Context, in *interceptor.ClientExecuteWorkflowInput) (client.WorkflowRun, error) {
	return guarded(ctx, func(ctx context.Context) (client.WorkflowRun, error) { return c.Next.ExecuteWorkflow(ctx, in) })
}

func (c *guardedClient) SignalWorkflow(ctx context.Context, in *interceptor.ClientSignalWorkflowInput) error {
	_, err := guarded(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.Next.SignalWorkflow(ctx, in) })
	return err
}

func (c *guardedClient) SignalWithStartWorkflow(ctx context.Context, in *interceptor.ClientSignalWithStartWorkflowInput) (client.WorkflowRun, error) {
	return guarded(ctx, func(ctx context.Context) (client.WorkflowRun, error) { return c.Next.SignalWithStartWorkflow(ctx, in) })
}

func (c *guardedClient) QueryWorkflow(ctx context.Context, in *interceptor.ClientQueryWorkflowInput) (converter.EncodedValue, error) {
	return guarded(ctx, func(ctx context.Context) (converter.EncodedValue, error) { return c.Next.QueryWorkflow(ctx, in) })
}

func (c *guardedClient) UpdateWorkflow(ctx context.Context, in *interceptor.ClientUpdateWorkflowInput) (client.WorkflowUpdateHandle, error) {
	return guarded(ctx, func(ctx context.Context) (client.WorkflowUpdateHandle, error) { return c.Next.UpdateWorkflow(ctx, in) })
}

func (c *guardedClient) UpdateWithStartWorkflow(ctx context.Context, in *interceptor.ClientUpdateWithStartWorkflowInput) (client.WorkflowUpdateHandle, error) {
	return guarded(ctx, func(ctx context.Context) (client.WorkflowUpdateHandle, error) {
		return c.Next.UpdateWithStartWorkflow(ctx, in)
	})
}

func (c *guardedClient) ExecuteActivity(ctx context.Context, in *interceptor.ClientExecuteActivityInput) (client.ActivityHandle, error) {
	return guarded(ctx, func(ctx context.Context) (client.ActivityHandle, error) { return c.Next.ExecuteActivity(ctx, in) })
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (g *sizeGuard) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &guardedActivity{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, guard: g}
}

type guardedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	guard *sizeGuard
}

// ExecuteActivity fails for good with a result that is too large: the server would refuse it too, but retryably.
func (a *guardedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := a.Next.ExecuteActivity(ctx, in)
	if err != nil || result == nil {
		return result, err
	}
	encoded, err := a.guard.converter.ToPayload(result)
	if err != nil {
		return nil, temporal.NewNonRetryableApplicationError("encoding the activity's result: "+err.Error(), "EncodeResult", nil)
	}
	if size := proto.Size(encoded); size > a.guard.maxResult {
		return nil, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the activity's result has %d bytes, more than the %d allowed; return a reference", size, a.guard.maxResult),
			ErrTypePayloadTooLarge, nil)
	}
	return result, nil
}
