// This file exists for people who debug sessions: the Temporal web UI, only when asked for.

package main

import (
	"fmt"
	"net"
	"os"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

type webUI struct {
	*uiserver.Server
	url string
}

// startUI serves the UI on loopback. It has no login and speaks for whoever reaches it, so it may only read.
func startUI(port int, temporalAddress string, certs *certificates) (*webUI, error) {
	// The UI library ends the process when it cannot listen, hence the trial.
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("opening the web UI's port: %w", err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("opening the web UI's port: %w", err)
	}
	cert, err := os.ReadFile(certs.clientCertFile)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate: %w", err)
	}
	key, err := os.ReadFile(certs.clientKeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the client key: %w", err)
	}
	s := uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host: "127.0.0.1", Port: port, TemporalGRPCAddress: temporalAddress, DefaultNamespace: namespaceName,
		EnableUI: true, DisableNewsFetch: true, HideLogs: true, DisableWriteActions: true,
		CORS: uiconfig.CORS{CookieInsecure: true},
		TLS: uiconfig.TLS{
			CaData: encode64(certs.ca), CertData: encode64(cert), KeyData: encode64(key),
			EnableHostVerification: true, ServerName: serverName,
		},
	}))
	go func() { _ = s.Start() }()
	return &webUI{Server: s, url: fmt.Sprintf("http://127.0.0.1:%d", port)}, nil
}
