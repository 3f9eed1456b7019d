// These tests exist to hold the running server to its promises: only its owner gets in, a kill loses nothing, one
// instance per directory, a clean stop. The test binary runs itself as the server.

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	osexec "os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	operatorpb "go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/log/tag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const asServer = "SANDBOX_TEMPORAL_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "serve":
		main()
		os.Exit(0)
	case "lose a port":
		fmt.Println("attempt in process", os.Getpid())
		log := serverLogger{log: slog.Default(), restart: restartProcess}
		log.Fatal("listening", tag.Error(&net.OpError{Op: "listen", Err: syscall.EADDRINUSE}))
	}
	os.Exit(m.Run())
}

// instance is one server process of a test.
type instance struct {
	cmd    *osexec.Cmd
	stdin  io.Closer
	info   serverInfo
	exited chan struct{}
	output *lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func spawn(t *testing.T, dir string, args ...string) *instance {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	i := &instance{cmd: osexec.Command(self, append([]string{"--state-dir", dir}, args...)...), exited: make(chan struct{}), output: &lockedBuffer{}}
	i.cmd.Env = append(os.Environ(), asServer+"=serve")
	i.cmd.Stdout, i.cmd.Stderr = i.output, i.output
	i.stdin, err = i.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, i.cmd.Start())
	go func() {
		defer close(i.exited)
		_ = i.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = i.cmd.Process.Kill()
		<-i.exited
	})
	return i
}

func start(t *testing.T, dir string, args ...string) *instance {
	t.Helper()
	i := spawn(t, dir, args...)
	require.Eventually(t, func() bool {
		i.info = stateDir(dir).read()
		return i.info.PID == i.cmd.Process.Pid
	}, 60*time.Second, 10*time.Millisecond, "output: %s", i.output)
	return i
}

func (i *instance) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-i.exited:
	case <-time.After(20 * time.Second):
		require.Fail(t, "the server did not end", i.output.String())
	}
	return i.cmd.ProcessState.ExitCode()
}

func (i *instance) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	certs, err := ensureCertificates(stateDir(i.cmd.Args[2]).path("tls"))
	require.NoError(t, err)
	tls, err := certs.clientTLS()
	require.NoError(t, err)
	return dialWith(t, i.info.Address, credentials.NewTLS(tls))
}

func dialWith(t *testing.T, address string, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestOnlyTheOwnerGetsIn(t *testing.T) {
	i := start(t, t.TempDir())
	certs, err := ensureCertificates(stateDir(i.cmd.Args[2]).path("tls"))
	require.NoError(t, err)
	anonymous, err := certs.clientTLS()
	require.NoError(t, err)
	anonymous.Certificates = nil
	for name, creds := range map[string]credentials.TransportCredentials{
		"without TLS": insecure.NewCredentials(), "without certificate": credentials.NewTLS(anonymous),
	} {
		_, err := workflowservice.NewWorkflowServiceClient(dialWith(t, i.info.Address, creds)).
			DescribeNamespace(bounded(t), &workflowservice.DescribeNamespaceRequest{Namespace: namespaceName})
		require.Error(t, err, name)
	}

	conn := i.dial(t)
	ns, err := workflowservice.NewWorkflowServiceClient(conn).
		DescribeNamespace(bounded(t), &workflowservice.DescribeNamespaceRequest{Namespace: namespaceName})
	require.NoError(t, err)
	require.Equal(t, retention, ns.Config.WorkflowExecutionRetentionTtl.AsDuration())
	require.True(t, ns.NamespaceInfo.Capabilities.WorkerCommands)
	require.True(t, ns.NamespaceInfo.Capabilities.StandaloneActivities)
	attributes, err := operatorpb.NewOperatorServiceClient(conn).
		ListSearchAttributes(bounded(t), &operatorpb.ListSearchAttributesRequest{Namespace: namespaceName})
	require.NoError(t, err)
	for _, name := range searchAttributes {
		require.Equal(t, enumspb.INDEXED_VALUE_TYPE_KEYWORD, attributes.CustomAttributes[name], name)
	}
}

func TestKillLosesNothing(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir)
	run, err := workflowservice.NewWorkflowServiceClient(first.dial(t)).StartWorkflowExecution(bounded(t),
		&workflowservice.StartWorkflowExecutionRequest{
			Namespace: namespaceName, WorkflowId: "kept", RequestId: "1",
			WorkflowType: &commonpb.WorkflowType{Name: "any"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "agent"},
		})
	require.NoError(t, err)
	require.NoError(t, first.cmd.Process.Kill())
	first.wait(t)

	second := start(t, dir, "--log-level", "info")
	require.Equal(t, first.info.Address, second.info.Address, "clients reconnect to the address they know")
	require.Contains(t, second.output.String(), "did not stop cleanly")
	got, err := workflowservice.NewWorkflowServiceClient(second.dial(t)).DescribeWorkflowExecution(bounded(t),
		&workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespaceName, Execution: &commonpb.WorkflowExecution{WorkflowId: "kept"}})
	require.NoError(t, err)
	require.Equal(t, run.RunId, got.WorkflowExecutionInfo.Execution.RunId)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, got.WorkflowExecutionInfo.Status)
}

func TestSecondInstanceAndCleanStop(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir)
	second := spawn(t, dir)
	require.Equal(t, exitLocked, second.wait(t))
	require.Contains(t, second.output.String(), "another instance")

	before := first.output.String()
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitOK, first.wait(t))
	require.Equal(t, before, first.output.String(), "a clean stop is silent")
	require.Zero(t, stateDir(dir).read().PID)
	lock, err := acquireLock(stateDir(dir).path("temporal.lock"))
	require.NoError(t, err)
	require.False(t, lock.unclean)
	require.NoError(t, lock.file.Close())
}

func TestEndOfParentStopsTheServer(t *testing.T) {
	i := start(t, t.TempDir(), "--parent-pipe", "--ui")
	require.Contains(t, i.output.String(), i.info.UIURL)
	require.NoError(t, i.stdin.Close())
	require.Equal(t, exitOK, i.wait(t))
}

func TestRefusalHasItsOwnStatus(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(stateDir(dir).path("temporal.db"), bytes.Repeat([]byte("no database "), 4096), 0o600))
	require.Equal(t, exitRefused, spawn(t, dir).wait(t))
}

func TestLostPortRestartsInTheSameProcess(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.CommandContext(bounded(t), self)
	cmd.Env = append(os.Environ(), asServer+"=lose a port")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	require.Equal(t, maxRestarts+1, strings.Count(string(out), fmt.Sprintf("attempt in process %d\n", cmd.Process.Pid)), string(out))
}
