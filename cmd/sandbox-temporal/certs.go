// This file exists because a loopback port is open to every user of the machine: all ports of the server demand a
// client certificate that only the owner of the state directory can read.

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/server/common/config"
)

const (
	caLifetime   = 20 * 365 * 24 * time.Hour
	leafLifetime = 2 * 365 * 24 * time.Hour
	renewBefore  = 90 * 24 * time.Hour // a server that runs longer than this without a restart is not foreseen
	serverName   = "localhost"
)

// certificates are the paths and PEM contents a start needs. The authority's key stays beside them, so that renewed
// certificates are trusted by clients that hold the old authority.
type certificates struct {
	caFile, clientCertFile, clientKeyFile string
	ca, serverCert, serverKey             []byte
}

// ensureCertificates makes what is missing, unusable or near its end in dir and keeps the rest.
func ensureCertificates(dir string) (*certificates, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the certificate directory: %w", err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	now := time.Now()
	ca, err := loadPair(file("ca.pem"), file("ca.key"), nil, now)
	if err != nil {
		if ca, err = issue(file("ca.pem"), file("ca.key"), nil, now); err != nil {
			return nil, fmt.Errorf("making the certificate authority: %w", err)
		}
	}
	for _, name := range []string{"server", "client"} {
		cert, key := file(name+".pem"), file(name+".key")
		if _, err := loadPair(cert, key, ca, now); err == nil {
			continue
		}
		if _, err := issue(cert, key, ca, now); err != nil {
			return nil, fmt.Errorf("making the %s certificate: %w", name, err)
		}
	}
	c := &certificates{caFile: file("ca.pem"), clientCertFile: file("client.pem"), clientKeyFile: file("client.key")}
	for path, dst := range map[string]*[]byte{c.caFile: &c.ca, file("server.pem"): &c.serverCert, file("server.key"): &c.serverKey} {
		if *dst, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("reading a certificate: %w", err)
		}
	}
	return c, nil
}

// loadPair fails unless the pair is readable, valid for renewBefore longer, and signed by ca (nil: by itself).
func loadPair(certFile, keyFile string, ca *tls.Certificate, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	issuer := pair.Leaf
	if ca != nil {
		issuer = ca.Leaf
	}
	if err := pair.Leaf.CheckSignatureFrom(issuer); err != nil {
		return nil, err
	}
	if now.Before(pair.Leaf.NotBefore) || now.After(pair.Leaf.NotAfter.Add(-renewBefore)) {
		return nil, errors.New("the certificate is outside its lifetime")
	}
	return &pair, nil
}

// issue makes a key and a certificate signed by ca (nil: an authority signed by itself) and writes both, the key
// first, so that a crash in between leaves a pair that loadPair rejects.
func issue(certFile, keyFile string, ca *tls.Certificate, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "sandbox-temporal"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(leafLifetime), BasicConstraintsValid: true,
	}
	parent, signer := t, any(key)
	if ca == nil {
		t.IsCA, t.NotAfter, t.KeyUsage = true, now.Add(caLifetime), x509.KeyUsageCertSign
		t.Subject.CommonName = "sandbox-temporal authority"
	} else {
		t.KeyUsage = x509.KeyUsageDigitalSignature
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		t.DNSNames, t.IPAddresses = []string{serverName}, []net.IP{net.IPv4(127, 0, 0, 1)}
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writeFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})); err != nil {
		return nil, err
	}
	if err := writeFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	return &pair, err
}

// apply makes every port of the server demand a certificate of the authority, also between its own services.
func (c *certificates) apply(root *config.RootTLS) {
	ca, cert, key := encode64(c.ca), encode64(c.serverCert), encode64(c.serverKey)
	server := config.ServerTLS{CertData: cert, KeyData: key, ClientCAData: []string{ca}, RequireClientAuth: true}
	client := config.ClientTLS{RootCAData: []string{ca}, ServerName: serverName}
	root.Internode = config.GroupTLS{Server: server, Client: client}
	root.Frontend = config.GroupTLS{Server: server, Client: client}
	root.SystemWorker = config.WorkerTLS{CertData: cert, KeyData: key, Client: client}
}

// clientTLS is what any client of this server uses.
func (c *certificates) clientTLS() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.clientCertFile, c.clientKeyFile)
	if err != nil {
		return nil, fmt.Errorf("loading the client certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.ca)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ServerName: serverName, MinVersion: tls.VersionTLS13}, nil
}

func encode64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
