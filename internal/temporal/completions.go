// This file exists so that a worker can tell its clients to look again exactly when a workflow's decisions are durable.

package temporal

import (
	"context"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// watchCompletions calls notify after each workflow task completion that the server acknowledged. The SDK names the
// workflow in ResourceId as "workflow:<id>"; large completions come in pages, of which only the last one counts.
func watchCompletions(notify func(workflowID string)) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if r, ok := req.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok && err == nil && !r.GetIntermediatePage() {
			id, _ := strings.CutPrefix(r.GetResourceId(), "workflow:")
			notify(id)
		}
		return err
	}
}
