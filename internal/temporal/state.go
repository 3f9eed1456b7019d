// This file exists to read what the embedded server tells its clients: where it listens and what it trusts.

package temporal

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	embeddedNamespace  = "agent"
	embeddedServerName = "localhost" // the name in the embedded server's certificate
)

// serverState is the embedded server's temporal.json. PID is 0 while no instance serves.
type serverState struct {
	Address   string    `json:"address"`
	Namespace string    `json:"namespace"`
	CA        string    `json:"ca"`
	Cert      string    `json:"cert"`
	Key       string    `json:"key"`
	PID       int       `json:"pid"`
	Schema    string    `json:"schema"`
	Version   string    `json:"version"`
	UIURL     string    `json:"uiUrl"`
	StartedAt time.Time `json:"startedAt"`
}

func readServerState(stateDir string) (serverState, error) {
	var s serverState
	b, err := os.ReadFile(filepath.Join(stateDir, "temporal.json"))
	if err != nil {
		return s, fmt.Errorf("reading the embedded server's state: %w", err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("reading the embedded server's state: %w", err)
	}
	return s, nil
}

// lockHolder is the process id in the lock file, 0 when no instance runs or it stopped cleanly.
func lockHolder(stateDir string) int {
	b, err := os.ReadFile(filepath.Join(stateDir, "temporal.lock"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	if err != nil {
		return 0
	}
	return pid
}

// tlsConfig trusts only the server's own authority. The client certificate is read at each handshake, because the
// server renews it while long-lived clients stay connected.
func (s serverState) tlsConfig() (*tls.Config, error) {
	ca, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, fmt.Errorf("reading the embedded server's certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("reading the embedded server's certificate authority: %s holds no certificate", s.CA)
	}
	return &tls.Config{
		RootCAs: pool, ServerName: embeddedServerName, MinVersion: tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
			if err != nil {
				return nil, fmt.Errorf("loading the embedded server's client certificate: %w", err)
			}
			return &pair, nil
		},
	}, nil
}
