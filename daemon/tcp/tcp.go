// Package tcp is the daemon's address on TCP: whom it answers there. What it answers is the same
// as on the socket, in the same dialects, in clear.
//
// Where other hosts can reach the address, clients give a password. Where this host alone can, none
// is needed, and a browser is kept from asking for a page of another site.
package tcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon/resp"
)

// Config says where to listen, and whom to answer.
type Config struct {
	Address      string // host:port; empty: nowhere
	PasswordFile string // the file with the password that clients give; empty: none is needed
}

// Validate checks the settings. It reads no file.
func (c Config) Validate(bad func(flag, format string, args ...any)) {
	if c.Address == "" {
		if c.PasswordFile != "" {
			bad("password-file", "it is for an address on TCP: give one with --listen, such as 127.0.0.1:7070")
		}
		return
	}
	host, _, err := net.SplitHostPort(c.Address)
	switch {
	case err != nil:
		bad("listen", "%q is no address: write host:port, such as 127.0.0.1:7070", c.Address)
	case c.PasswordFile == "" && !local(host):
		bad("listen", "other hosts can reach %s, and anybody could ask: give --password-file, or listen on 127.0.0.1", c.Address)
	}
}

// local reports whether a host's name or address is of this host alone, as far as its text tells.
func local(host string) bool {
	host = strings.TrimSuffix(host, ".")
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// Server decides about clients. Its methods may be called from any goroutine.
type Server struct {
	config   Config
	listen   func(network, address string) (net.Listener, error)
	password atomic.Pointer[[sha256.Size]byte] // its hash; nil: none is needed
}

// New reads the password's file.
func New(c Config) (*Server, error) {
	s := &Server{config: c, listen: net.Listen}
	return s, s.Reload()
}

// Reload reads the password's file again. After an error, the password stays.
func (s *Server) Reload() error {
	if s.config.PasswordFile == "" {
		return nil
	}
	password, err := connect.ReadPassword(s.config.PasswordFile, nil)
	if err == nil {
		err = private(s.config.PasswordFile)
	}
	if err != nil {
		return fmt.Errorf("--password-file: %w", err)
	}
	sum := sha256.Sum256([]byte(password))
	s.password.Store(&sum)
	return nil
}

// private returns that others can read a file. The group of somebody else's file may: it is how
// this process reads it, as a secret of Kubernetes.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	others := os.FileMode(0o077)
	if ok && int(of.Uid) != os.Geteuid() {
		others = 0o007
	}
	if mode := info.Mode().Perm(); mode&others != 0 {
		return fmt.Errorf("others can read %s, which has mode %#o: take their rights away (chmod 0600)", path, mode)
	}
	return nil
}

// ErrNotLocal is the error of Listen where the address has to be one of this host alone.
var ErrNotLocal = errors.New("other hosts can reach")

// Listen opens the address.
func (s *Server) Listen() (net.Listener, error) {
	l, err := s.listen("tcp", s.config.Address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w: choose another address, or stop what listens there", err)
	}
	// The resolver says where a name leads, localhost as any other.
	if at, ok := l.Addr().(*net.TCPAddr); s.config.PasswordFile == "" && !(ok && at.IP.IsLoopback()) {
		_ = l.Close() // nobody was accepted
		return nil, fmt.Errorf("--listen: %s leads to %s, which %w: give --password-file, or listen on 127.0.0.1", s.config.Address, l.Addr(), ErrNotLocal)
	}
	return l, nil
}

// Password is what checks a client's password, in constant time; nil: none is needed.
func (s *Server) Password() func(password []byte) bool {
	if s.config.PasswordFile == "" {
		return nil
	}
	return func(password []byte) bool {
		sum := sha256.Sum256(password)
		return subtle.ConstantTimeCompare(sum[:], s.password.Load()[:]) == 1
	}
}

// open are the paths that need no password: probes, and what monitoring reads.
var open = []string{"/livez", "/metrics", "/readyz"}

// Refuse returns why a request that came by the address is not answered; nil: it is. New IDs would
// be its answer if ids is true.
func (s *Server) Refuse(r *http.Request, ids bool) *resp.Refusal {
	if accepts := s.Password(); accepts != nil {
		_, password, _ := r.BasicAuth()
		if !slices.Contains(open, r.URL.Path) && !accepts([]byte(password)) {
			return resp.Refuse(resp.NoAuth)
		}
	} else if !local(hostOf(r.Host)) {
		// A page in a browser can have its own name lead here.
		return resp.Refuse(resp.NotHere, "a host of another name", "127.0.0.1 or localhost")
	}
	if foreign(r) && (ids || strings.HasPrefix(r.URL.Path, "/flakeward.")) {
		return resp.Refuse(resp.NotHere, "an ID for a page of another site", "a program that is no browser, or a page of this address")
	}
	return nil
}

// foreign reports whether a browser asks for a page of another site. The page cannot read the reply
// then, but the IDs would be gone.
func foreign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		from, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(from.Host, r.Host) {
			return true
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// hostOf is the host of a Host field, without its port.
func hostOf(field string) string {
	if host, _, err := net.SplitHostPort(field); err == nil {
		return host
	}
	return field
}
