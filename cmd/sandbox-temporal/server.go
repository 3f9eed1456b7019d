// This file exists to assemble the Temporal server: four services in one process, loopback only, tuned for one user.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	readyTimeout = 45 * time.Second
	stopTimeout  = 5 * time.Second
	maxRestarts  = 5 // after losing a port to another process
	store        = "sqlite"
)

// dynamicSettings differ from the server's defaults. Update-with-start and standalone activities are on by default.
var dynamicSettings = dynamicconfig.StaticClient{
	// Cancelling a command reaches its worker in about 0.1 s instead of with its next heartbeat.
	dynamicconfig.EnableCancelActivityWorkerCommand.Key(): true,
	dynamicconfig.WorkerCommandsEnabled.Key():             true,
	// One user: small caches, and one partition per task queue, so that a task always meets its poller directly.
	dynamicconfig.HistoryCacheHostLevelMaxSize.Key():        1024,
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
	// Every open editor lists sessions.
	dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
	dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key():      true,
}

// server is the running Temporal server.
type server struct {
	temporal.Server
	st        stateDir
	certs     *certificates
	address   string
	startedAt time.Time
}

// startServer returns when the frontend answers for the namespace, within readyTimeout.
func startServer(ctx context.Context, st stateDir, certs *certificates, log *slog.Logger) (*server, error) {
	ports, err := choosePorts(st.read().Address)
	if err != nil {
		return nil, err
	}
	s := &server{st: st, certs: certs, address: loopback(ports[primitives.FrontendService]), startedAt: time.Now()}
	cfg := serverConfig(st, s.address, ports)
	certs.apply(&cfg.Global.TLS)
	logger := serverLogger{log: log, restart: restartProcess}
	authorizer, err := authorization.GetAuthorizerFromConfig(&cfg.Global.Authorization)
	if err != nil {
		return nil, fmt.Errorf("configuring the server: %w", err)
	}
	claims, err := authorization.GetClaimMapperFromConfig(&cfg.Global.Authorization, logger)
	if err != nil {
		return nil, fmt.Errorf("configuring the server: %w", err)
	}
	hosts := make(map[primitives.ServiceName]static.Hosts, len(ports))
	for name, port := range ports {
		hosts[name] = static.SingleLocalHost(loopback(port))
	}
	s.Server, err = temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamicSettings),
	)
	if err != nil {
		return nil, fmt.Errorf("making the server: %w", err)
	}
	if err := s.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func serverConfig(st stateDir, address string, ports map[primitives.ServiceName]int) *config.Config {
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: store, VisibilityStore: store,
			NumHistoryShards: 1, // can never change for a database
			DataStores:       map[string]config.DataStore{store: {SQL: sqlConfig(st)}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: address},
		Services:            make(map[string]config.Service, len(ports)),
	}
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: "127.0.0.1"}
	for name, port := range ports {
		c.Services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: "127.0.0.1"}}
	}
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	return c
}

// awaitReady asks as a client would: with the client certificate, for health and for the namespace.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := s.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := probe(ctx, conn)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the frontend: %w", errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

func (s *server) dial() (*grpc.ClientConn, error) {
	tls, err := s.certs.clientTLS()
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(credentials.NewTLS(tls)))
	if err != nil {
		return nil, fmt.Errorf("connecting to the frontend: %w", err)
	}
	return conn, nil
}

func probe(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, err := healthpb.NewHealthClient(conn).Check(ctx,
		&healthpb.HealthCheckRequest{Service: workflowservice.WorkflowService_ServiceDesc.ServiceName}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if h.Status != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("the frontend reports %s", h.Status)
	}
	_, err = workflowservice.NewWorkflowServiceClient(conn).DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: namespaceName})
	return err
}

// stop ends the services in order, within stopTimeout; the database survives being left earlier.
func (s *server) stop() error {
	done := make(chan error, 1)
	go func() { done <- s.Stop() }()
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case err := <-done:
		return err
	case <-timeout.C:
		return fmt.Errorf("the services did not stop within %s", stopTimeout)
	}
}

// info is what clients need to know while this process serves.
func (s *server) info() serverInfo {
	return serverInfo{
		Address: s.address, Namespace: namespaceName,
		CA: s.certs.caFile, Cert: s.certs.clientCertFile, Key: s.certs.clientKeyFile,
		PID: os.Getpid(), Schema: sqliteschema.Version, Version: version + " (server " + headers.ServerVersion + ")",
		StartedAt: s.startedAt.UTC(),
	}
}

// restartProcess begins anew in the same process, a bounded number of times, after losing a port between choosing
// and opening it. It returns when it may not or cannot.
func restartProcess() {
	const counter = "SANDBOX_TEMPORAL_RESTARTS" // lives in the environment, the only thing that outlives exec
	n, _ := strconv.Atoi(os.Getenv(counter))
	self, err := os.Executable()
	if n >= maxRestarts || err != nil || os.Setenv(counter, strconv.Itoa(n+1)) != nil {
		return
	}
	_ = syscall.Exec(self, os.Args, os.Environ())
}
