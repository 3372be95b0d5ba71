// Package probe finds out why a server of a coordinator does not serve: it connects anew, says
// what the protocol begins with, and explains what comes back. It sends nothing that is secret.
// Its errors have the same text for the same cause, at whatever time, so that the log of one
// daemon, the log of another and a command's error can be compared.
package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/secure"
)

// Protocol is how a server that serves is told from any other.
type Protocol struct {
	Name  string              // "etcd"
	Hello string              // the client's first bytes
	Next  []string            // what TLS negotiates (ALPN); nil: nothing
	Known func(b []byte) bool // whether an answer may begin so
}

// Server is a server to ask.
type Server struct {
	Address string      // host:port
	TLS     *tls.Config // nil: plain text
}

// mostAnswer is how many bytes of an answer are read.
const mostAnswer = 4096

// Ask connects to the server and returns what it answers to the protocol's first bytes: the first
// bytes of that, or, if whole, all to the end of the connection. An error says what is wrong and
// what to do.
func (p Protocol) Ask(ctx context.Context, s Server, whole bool) ([]byte, error) {
	first, cancel := context.WithTimeout(ctx, Left(ctx)/2) // a server that expects TLS may wait for more
	answer, err := p.exchange(first, s, whole)
	cancel()
	switch {
	case err == nil && !p.Known(answer):
		if s.TLS == nil && looksLikeTLS(answer) {
			return nil, expectsTLS(fmt.Errorf("it answered with a TLS alert"))
		}
		return nil, Says(fmt.Errorf("answered %.40q", answer), "what listens there is not %s: correct the port in --coord", p.Name)
	case err == nil:
		return answer, nil
	case s.TLS == nil && connected(err) && speaksTLS(ctx, s.Address):
		return nil, expectsTLS(err)
	case s.TLS != nil && connected(err) && !secure.Mistake(err) && p.speaksPlain(ctx, s.Address):
		return nil, Says(err, "it does not speak TLS on that port: leave out --coord-ca and --coord-cert, or use its port for TLS")
	default:
		return nil, p.explain(err)
	}
}

// exchange connects, and returns the answer.
func (p Protocol) exchange(ctx context.Context, s Server, whole bool) ([]byte, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return nil, &dialError{err}
	}
	defer raw.Close() // it has served
	defer context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })()
	conn := raw
	if s.TLS != nil {
		config := s.TLS.Clone()
		config.ServerName, _, _ = net.SplitHostPort(s.Address) // dialing it has shown that it can be split
		config.NextProtos = p.Next
		encrypted := tls.Client(conn, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, secure.Explain(err)
		}
		conn = encrypted
	}
	if _, err := io.WriteString(conn, p.Hello); err != nil {
		return nil, secure.Explain(err)
	}
	var answer []byte
	for buffer := make([]byte, mostAnswer); len(answer) < mostAnswer; {
		n, err := conn.Read(buffer[:mostAnswer-len(answer)])
		answer = append(answer, buffer[:n]...)
		switch {
		case n > 0 && (!whole || !p.Known(answer)):
			return answer, nil
		case err != nil && len(answer) > 0:
			return answer, nil
		case err != nil:
			return nil, secure.Explain(err)
		}
	}
	return answer, nil
}

// dialError is of a connection that was not made.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// connected reports whether there was a connection, by the error with which nothing came over it.
func connected(err error) bool { return !errors.As(err, new(*dialError)) }

// explain says what an error means where the protocol has not been spoken.
func (p Protocol) explain(err error) error {
	var (
		dialing *dialError
		name    *net.DNSError
		late    net.Error
	)
	timeout := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout()
	switch {
	case secure.Mistake(err):
		return err
	case errors.As(err, &name):
		return Says(err, "its name cannot be resolved: correct --coord, or the name service (%s)", name.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return Says(err, "nothing listens there (connection refused): start it, or correct --coord")
	case errors.As(err, &dialing) && timeout:
		return Says(err, "no connection can be made: its host is down, or the network or a firewall drops packets")
	case errors.As(err, &dialing):
		return Says(err, "no connection can be made (%v)", innermost(err))
	case timeout:
		return Says(err, "it accepts connections and answers nothing: it is stopped or hangs, or what listens there is not %s", p.Name)
	case ended(err):
		return Says(err, "it ends each connection without an answer: it is just starting or stopping, what listens there is not %s, or a proxy has no server behind it", p.Name)
	default:
		return Says(err, "it cannot be spoken to (%v)", innermost(err))
	}
}

// innermost is the error's heart: the text around it has ports that change from try to try.
func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// ended reports whether the server ended the connection.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// looksLikeTLS reports whether an answer begins as a record of TLS does.
func looksLikeTLS(b []byte) bool { return len(b) >= 2 && b[0] >= 20 && b[0] <= 23 && b[1] == 3 }

func expectsTLS(err error) error {
	return Says(err, "it expects TLS: give --coord-ca, the file of its authorities, or of the system's")
}

// speaksTLS reports whether a server that ended a connection in plain text takes part in a
// handshake, whatever its certificate and whatever it thinks of a client that has none.
func speaksTLS(ctx context.Context, address string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close() // nothing is sent but the handshake
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}).HandshakeContext(ctx)
	var alert *net.OpError
	return err == nil || errors.As(err, &alert) && alert.Op == "remote error"
}

// speaksPlain reports whether a server that ended a handshake of TLS speaks the protocol in plain
// text.
func (p Protocol) speaksPlain(ctx context.Context, address string) bool {
	answer, err := p.exchange(ctx, Server{Address: address}, false)
	return err == nil && p.Known(answer)
}

// Says is an error with a text of its own, which hides that of err: it changes from try to try.
func Says(err error, format string, args ...any) error {
	return &reason{fmt.Sprintf(format, args...), err}
}

type reason struct {
	text string
	err  error
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.err }

// All asks all servers side by side, and returns what is wrong as one error: servers that have the
// same cause are named together. ask returns nil for a server that is well, of which the error says
// well; if that is empty, there is no error where one is well.
func All(addresses []string, ask func(address string) error, well string) error {
	errs := make([]error, len(addresses))
	var asking sync.WaitGroup
	for i, address := range addresses {
		asking.Go(func() { errs[i] = ask(address) })
	}
	asking.Wait()
	var wrapped []error
	servers := map[string][]string{}
	for i, err := range errs {
		text := well
		if err != nil {
			text, wrapped = err.Error(), append(wrapped, err)
		} else if well == "" {
			return nil
		}
		servers[text] = append(servers[text], addresses[i])
	}
	var texts []string
	for _, text := range slices.Sorted(maps.Keys(servers)) {
		switch {
		case len(servers) > 1:
			said := text
			if text == well {
				said = "serves" // what is wrong is elsewhere
			}
			texts = append(texts, strings.Join(servers[text], ", ")+": "+said)
		case len(addresses) > 1:
			texts = append(texts, "each server: "+text)
		default:
			texts = append(texts, text)
		}
	}
	return &reason{strings.Join(texts, "; "), errors.Join(wrapped...)}
}

// system is for waiting: nothing that is stored or decided comes from it.
var system clockguard.System

// Left is how long it is until ctx ends, which has a deadline.
func Left(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return time.Duration(deadline.UnixNano() - system.Now().Wall)
}

// Late finds out why a request takes long, while that is waited for.
type Late struct {
	cancel context.CancelFunc
	done   chan struct{}
	why    error // set before done is closed
}

// Watch has why called once half of the time is over that the request's context has.
func Watch(ctx context.Context, why func(context.Context) error) *Late {
	half := Left(ctx) / 2
	ctx, cancel := context.WithCancel(ctx)
	l := &Late{cancel: cancel, done: make(chan struct{})}
	go func() { // Why and Stop wait for it
		defer close(l.done)
		waiting, cancel := context.WithTimeout(ctx, half)
		defer cancel()
		<-waiting.Done()
		if ctx.Err() == nil {
			l.why = why(ctx)
		}
	}()
	return l
}

// Why returns what was found once the request's context has ended; nil: nothing was.
func (l *Late) Why() error {
	<-l.done
	return l.why
}

// Stop ends the watch.
func (l *Late) Stop() {
	l.cancel()
	<-l.done
}
