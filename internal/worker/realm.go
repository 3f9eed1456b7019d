// This file tells one Temporal from another, so that nobody takes the sandboxes of somebody else's sessions for orphans.

package worker

import (
	"context"
	"fmt"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// realmOf returns the id of a namespace, which no other one has or will have, on whatever server.
func realmOf(ctx context.Context, c client.Client, namespace string) (string, error) {
	d, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return "", fmt.Errorf("describe the namespace: %w", err)
	}
	return d.GetNamespaceInfo().GetId(), nil
}
