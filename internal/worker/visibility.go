// This file reads what Temporal's visibility knows of sessions, and makes sure that it may know.

package worker

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"sandboxagent/editors"
	"sandboxagent/internal/agent"
	"sandboxagent/internal/session"
)

const maxListed = 1000

// ListSessions rebuilds what a lost registry knew: the running sessions of an owner, oldest first.
func (a *Activities) ListSessions(ctx context.Context, owner string) (session.Found, error) {
	found := session.Found{Sessions: []editors.Session{}, SearchAttributes: a.SearchAttributes}
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", agent.WorkflowName)
	if a.SearchAttributes {
		query += fmt.Sprintf(" AND %s = '%s'", agent.AttrOwner, escape(owner))
	}
	var token []byte
	for len(found.Sessions) < maxListed {
		page, err := a.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: 200, NextPageToken: token})
		if err != nil {
			return found, fmt.Errorf("list sessions: %w", err)
		}
		for _, e := range page.Executions {
			var s editors.Session
			p := e.GetMemo().GetFields()[agent.MemoSession]
			if p == nil || a.Converter.FromPayload(p, &s) != nil || s.ID == "" {
				continue
			}
			found.Sessions = append(found.Sessions, s)
		}
		if token = page.NextPageToken; len(token) == 0 {
			break
		}
		activity.RecordHeartbeat(ctx, len(found.Sessions))
	}
	slices.SortFunc(found.Sessions, func(x, y editors.Session) int { return x.CreatedAt.Compare(y.CreatedAt) })
	return found, nil
}

// escape doubles single quotes, as Temporal's list filters want it.
func escape(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] == '\'' {
			out = append(out, '\'')
		}
		out = append(out, s[i])
	}
	return string(out)
}

// EnsureSearchAttributes tells whether the cluster knows our search attributes, adding them where that is allowed. A
// cluster that has none of them still works: sessions are then listed by their memo alone.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) bool {
	names := []string{agent.AttrTitle, agent.AttrBackend, agent.AttrFolder, agent.AttrState, agent.AttrOwner, agent.AttrParent, agent.AttrHost}
	missing := func() map[string]enums.IndexedValueType {
		have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
		if err != nil {
			return nil
		}
		out := map[string]enums.IndexedValueType{}
		for _, n := range names {
			if _, ok := have.GetCustomAttributes()[n]; !ok {
				out[n] = enums.INDEXED_VALUE_TYPE_KEYWORD
			}
		}
		return out
	}
	want := missing()
	if want == nil {
		return false
	}
	if len(want) > 0 {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: want})
		if err != nil {
			return false
		}
		want = missing()
	}
	return want != nil && len(want) == 0
}

func encodeBase64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
