// Package admin is the daemon's address on TCP: who may come to it, and what for. What it answers is
// a handler's, as on the socket.
//
// Where the address is not one of this host alone, clients have to show who they are, by a
// certificate or a token, over TLS.
package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/flakeward/flakeward/daemon/resp"
)

// Config says where to listen, and whom to answer.
type Config struct {
	Address   string // host:port; empty: nowhere
	IDs       bool   // whether IDs are issued here
	Cert, Key string // files (PEM) of the certificate to show and its key; empty: no TLS
	ClientCA  string // file (PEM) of the authorities of clients' certificates; empty: none are asked for
	TokenFile string // file that has the token which clients send; empty: none is asked for
}

// Validate checks the relations between the settings. It reads no file.
func (c Config) Validate(bad func(flag, format string, args ...any)) {
	if c.Address == "" {
		for flag, set := range map[string]bool{
			"admin-ids": c.IDs, "admin-cert": c.Cert != "", "admin-key": c.Key != "", "admin-client-ca": c.ClientCA != "", "admin-token-file": c.TokenFile != "",
		} {
			if set {
				bad(flag, "there is no address that it is for: give one with --admin, such as 127.0.0.1:7070")
			}
		}
		return
	}
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		bad("admin", "%q is no address: write host:port, such as 127.0.0.1:7070", c.Address)
		return
	}
	switch {
	case c.Cert != "" && c.Key == "":
		bad("admin-key", "the certificate of --admin-cert needs its key")
	case c.Key != "" && c.Cert == "":
		bad("admin-cert", "the key of --admin-key needs its certificate")
	case c.ClientCA != "" && c.Cert == "":
		bad("admin-cert", "clients show certificates over TLS only: give one for this side, and --admin-key")
	case !local(host) && c.Cert == "":
		bad("admin", "%s is not an address of this host alone: give --admin-cert and --admin-key, and --admin-client-ca or --admin-token-file; or listen on 127.0.0.1", c.Address)
	case !local(host) && c.ClientCA == "" && c.TokenFile == "":
		bad("admin", "%s is not an address of this host alone, and anybody could ask there: give --admin-client-ca or --admin-token-file; or listen on 127.0.0.1", c.Address)
	}
}

// open reports whether anybody who can reach the address could ask, or hear the token.
func (c Config) open() bool { return c.Cert == "" || c.ClientCA == "" && c.TokenFile == "" }

// local reports whether only this host can reach an address, as far as its text tells.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// connections is how many there may be at once.
const connections = 256

// Server decides about clients. Its methods may be called from any goroutine.
type Server struct {
	config Config
	listen func(network, address string) (net.Listener, error)
	read   atomic.Pointer[files]
}

// files is what was read of them.
type files struct {
	tls   *tls.Config // nil: there is none
	token *[sha256.Size]byte
}

// New reads the files.
func New(c Config) (*Server, error) {
	s := &Server{config: c, listen: net.Listen}
	return s, s.Reload()
}

// Reload reads the files again. After an error, those that were read last stay.
func (s *Server) Reload() error {
	read := &files{}
	if s.config.Cert != "" {
		pair, err := tls.LoadX509KeyPair(s.config.Cert, s.config.Key)
		if err != nil {
			return fmt.Errorf("--admin-cert %s and --admin-key %s cannot be used: %w", s.config.Cert, s.config.Key, err)
		}
		read.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	if s.config.ClientCA != "" && read.tls != nil { // Validate refuses it without a certificate
		text, err := os.ReadFile(s.config.ClientCA)
		if err != nil {
			return fmt.Errorf("--admin-client-ca cannot be used: %w", err)
		}
		read.tls.ClientAuth, read.tls.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !read.tls.ClientCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("--admin-client-ca %s cannot be used: it has no certificate in PEM", s.config.ClientCA)
		}
	}
	if s.config.TokenFile != "" {
		token, err := readToken(s.config.TokenFile)
		if err != nil {
			return fmt.Errorf("--admin-token-file %s cannot be used: %w", s.config.TokenFile, err)
		}
		sum := sha256.Sum256([]byte(token))
		read.token = &sum
	}
	s.read.Store(read)
	return nil
}

// A token has so many bytes.
const (
	shortestToken = 16
	longestToken  = 4 << 10
)

func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimRight(string(text), "\r\n")
	if len(token) < shortestToken || len(token) > longestToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("it must hold the token alone, in one line, of %d to %d letters, digits and signs", shortestToken, longestToken)
	}
	return token, nil
}

// ErrNotLocal is the error of Listen where the address has to be one of this host alone.
var ErrNotLocal = errors.New("is not an address of this host alone")

// Listen opens the address.
func (s *Server) Listen() (net.Listener, error) {
	l, err := s.listen("tcp", s.config.Address)
	if err != nil {
		return nil, fmt.Errorf("--admin: %w: choose another address, or stop what listens there", err)
	}
	// The resolver says where a name leads, localhost as any other.
	if at, ok := l.Addr().(*net.TCPAddr); s.config.open() && !(ok && at.IP.IsLoopback()) {
		_ = l.Close() // nobody was accepted
		return nil, fmt.Errorf("--admin: %s leads to %s, which %w: give --admin-cert and --admin-key, and --admin-client-ca or --admin-token-file; or listen on 127.0.0.1", s.config.Address, l.Addr(), ErrNotLocal)
	}
	l = newSlots(l, connections)
	if s.config.Cert == "" {
		return l, nil
	}
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if read := s.read.Load(); read.tls != nil {
				return read.tls, nil
			}
			return nil, errNoFiles
		},
	}), nil
}

var errNoFiles = errors.New("no certificate was read")

// Refuse returns why a request is not answered; nil: it is. New IDs would be its answer if ids is
// true. Probes need no token.
func (s *Server) Refuse(r *http.Request, ids bool) *resp.Refusal {
	read := s.read.Load()
	path := r.URL.Path
	switch {
	case read.token != nil && path != "/livez" && path != "/readyz" && !read.knows(r):
		return resp.Refuse(resp.NoToken)
	case read.token == nil && read.tls == nil && !local(hostOf(r)):
		// A page in a browser can have its own name lead here.
		return resp.Refuse(resp.NotHere, "a host of another name", "127.0.0.1 or localhost")
	case !s.config.IDs && (ids || strings.HasPrefix(path, "/flakeward.")):
		return resp.Refuse(resp.NotHere, "an ID", "the socket, or start the daemon with --admin-ids")
	case foreign(r) && (ids || strings.HasPrefix(path, "/flakeward.")):
		return resp.Refuse(resp.NotHere, "an ID for a page of another site", "a program that is no browser, or a page of this address")
	}
	return nil
}

// foreign reports whether a browser asks for a page of another site. The page cannot read the reply
// then, but the IDs would be gone.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// known reports whether the request has the token, where one is asked for.
func (s *Server) known(r *http.Request) bool {
	read := s.read.Load()
	return read.token == nil || read.knows(r)
}

// knows reports whether the request has the token.
func (f *files) knows(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], f.token[:]) == 1
}

func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return strings.Trim(host, "[]")
}
