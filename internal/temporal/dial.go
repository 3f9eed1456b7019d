// This file exists to connect: one bounded attempt, with errors that say what was tried.

package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// DefaultDialTimeout bounds Dial when Options.Timeout is zero.
	DefaultDialTimeout = 5 * time.Second

	keepAliveTime    = 30 * time.Second
	keepAliveTimeout = 10 * time.Second
)

// ErrUnavailable means that no Temporal server answered; trying later may help. Errors that match it say which
// address was tried and why.
var ErrUnavailable = errors.New("Temporal is not reachable")

// UnavailableError matches ErrUnavailable and says what was tried.
type UnavailableError struct {
	Address string // host:port, empty when there is none yet
	Source  string // what chose the address, for people
	Foreign bool   // something answers there, but no Temporal server
	Err     error
}

func (e *UnavailableError) Error() string {
	if e.Address == "" {
		return fmt.Sprintf("%v: %s has not been started: %v", ErrUnavailable, e.Source, e.Err)
	}
	return fmt.Sprintf("%v at %s (%s): %v", ErrUnavailable, e.Address, e.Source, e.Err)
}

// Unwrap lets errors.Is find ErrUnavailable and the cause.
func (e *UnavailableError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// Options shape a connection. The zero value is a good client.
type Options struct {
	// Log receives the SDK's messages one level lower than the SDK gives them (nil: none).
	Log *slog.Logger
	// Timeout bounds Dial in addition to its context (0: DefaultDialTimeout).
	Timeout time.Duration
	// Identity names this client in histories and poller lists ("": the SDK's pid@host).
	Identity string

	// MaxArgument is the most bytes of encoded arguments that one update, signal, query or start may carry
	// (0: DefaultMaxArgument). Larger ones fail with *PayloadTooLargeError before anything is sent.
	MaxArgument int
	// MaxResult is the most bytes of an activity's encoded result (0: DefaultMaxResult). A larger one makes the
	// activity fail for good with an application error of type ErrTypePayloadTooLarge.
	MaxResult int
	// Keys encrypt payloads with AES-256-GCM: the first encrypts, all decrypt. Without keys payloads are only compressed.
	Keys []Key

	// OnWorkflowTaskCompleted is called after the server acknowledged a completed workflow task, hence after what the
	// workflow decided is durable. It gets the workflow id, or "" when the SDK does not tell. It must return quickly.
	OnWorkflowTaskCompleted func(workflowID string)

	// DialOptions and Interceptors are added after the product's own.
	DialOptions  []grpc.DialOption
	Interceptors []interceptor.ClientInterceptor
}

// Dial connects once, within the shorter of ctx and Options.Timeout. The client reconnects by itself later. When
// nothing answers the error matches ErrUnavailable; other errors (a refused key, a bad certificate file) will not
// go away by waiting. The caller closes the client.
func Dial(ctx context.Context, p Profile, o Options) (client.Client, error) {
	opts, err := p.clientOptions()
	if err != nil {
		return nil, err
	}
	if opts.DataConverter, err = NewDataConverter(o.Keys); err != nil {
		return nil, fmt.Errorf("preparing payload encoding: %w", err)
	}
	opts.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: opts.DataConverter, EncodeCommonAttributes: len(o.Keys) > 0,
	})
	opts.Logger = newLogger(o.Log)
	opts.Identity = o.Identity
	opts.ConnectionOptions.KeepAliveTime = keepAliveTime
	opts.ConnectionOptions.KeepAliveTimeout = keepAliveTimeout
	guard := &sizeGuard{maxArgument: o.MaxArgument, maxResult: o.MaxResult, converter: opts.DataConverter}
	guard.setDefaults()
	unary := []grpc.UnaryClientInterceptor{guard.checkRequest}
	if o.OnWorkflowTaskCompleted != nil {
		unary = append(unary, watchCompletions(o.OnWorkflowTaskCompleted))
	}
	opts.ConnectionOptions.DialOptions = append(opts.ConnectionOptions.DialOptions,
		grpc.WithChainUnaryInterceptor(unary...), grpc.WithConnectParams(connectParams(p.Embedded)))
	opts.ConnectionOptions.DialOptions = append(opts.ConnectionOptions.DialOptions, o.DialOptions...)
	opts.Interceptors = append(append(opts.Interceptors, guard), o.Interceptors...)

	timeout := o.Timeout
	if timeout <= 0 {
		timeout = DefaultDialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := client.DialContext(ctx, opts)
	if err == nil {
		return c, nil
	}
	if foreign := isForeign(err); foreign || IsUnavailable(err) {
		return nil, &UnavailableError{Address: opts.HostPort, Source: p.Source, Foreign: foreign, Err: err}
	}
	return nil, fmt.Errorf("connecting to Temporal at %s (%s): %w", opts.HostPort, p.Source, err)
}

// isForeign reports whether err comes from talking to what is no Temporal server, such as a web server or proxy. gRPC says
// so in words only.
func isForeign(err error) bool {
	for _, words := range []string{
		"error reading server preface", "frame too large", "unexpected HTTP status code", "malformed header", "content-type",
		"first record does not look like a TLS handshake",
	} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return status.Code(err) == codes.Unimplemented
}

// IsUnavailable reports whether err means that the server did not answer, in whatever shape the SDK or gRPC gave it.
// A caller's own cancelled context is not the server's silence.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var unavailable *serviceerror.Unavailable
	var deadline *serviceerror.DeadlineExceeded
	if errors.Is(err, ErrUnavailable) || errors.As(err, &unavailable) || errors.As(err, &deadline) ||
		errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// clientOptions reads the embedded server's state at the last moment, because a start may have changed it.
func (p Profile) clientOptions() (client.Options, error) {
	if !p.Embedded {
		return p.options, nil
	}
	st, err := readServerState(p.StateDir)
	if err != nil {
		return client.Options{}, &UnavailableError{Source: p.Source, Err: err}
	}
	tls, err := st.tlsConfig()
	if err != nil {
		return client.Options{}, &UnavailableError{Address: st.Address, Source: p.Source, Err: err}
	}
	return client.Options{
		HostPort: st.Address, Namespace: st.Namespace,
		// Compressing what never leaves the machine only costs time.
		ConnectionOptions: client.ConnectionOptions{TLS: tls, GrpcCompression: &client.GrpcCompressionNone{}},
	}, nil
}

// connectParams reconnect to a local server as soon as it is back, and spare a remote one.
func connectParams(local bool) grpc.ConnectParams {
	c := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 5 * time.Second}
	c.Backoff.BaseDelay, c.Backoff.MaxDelay = 200*time.Millisecond, 10*time.Second
	if local {
		c.Backoff.BaseDelay, c.Backoff.MaxDelay = 50*time.Millisecond, 500*time.Millisecond
	}
	return c
}
