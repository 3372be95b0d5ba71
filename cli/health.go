package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	urfave "github.com/urfave/cli/v2"
)

func healthCommand(own paths) *urfave.Command {
	flags := newClientFlags(own)
	var address string
	return withConfig(&urfave.Command{
		Name:  "health",
		Usage: "check whether this host's daemon can issue IDs, for probes that run a command",
		Description: fmt.Sprintf("Asks /readyz on the daemon's socket, or /livez with --live, and prints the answer.\n"+
			"With --address it asks one certain daemon, as during an update, when two share the socket in turn.\n"+
			"Exits with status 0 if the daemon is ok, %d if it answers but cannot issue IDs, %d if no daemon listens, %d after another failure.\n"+
			"Restart a daemon that fails --live. Do not restart one that is only not ready: an outage of the coordinator makes it so.",
			ExitNotReady, ExitNoDaemon, ExitFailed),
		Flags: append(flags.flags(), &urfave.BoolFlag{Name: "live", Usage: "check only that the daemon serves requests"},
			&urfave.StringFlag{Name: "address", Destination: &address, Usage: "ask at this `ADDRESS` of --listen, such as 127.0.0.1:7070, instead of the socket"}),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			path := "/readyz"
			if c.Bool("live") {
				path = "/livez"
			}
			text, ok, err := flags.probe(c.Context, address, path)
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("%w: %s", errNotReady, strings.ReplaceAll(strings.TrimSpace(text), "\n", "; "))
			}
			_, err = fmt.Fprint(c.App.Writer, text)
			return err
		},
	})
}

// mostProbe bounds the answer to a probe, in bytes.
const mostProbe = 64 << 10

// probe asks the daemon over HTTP, at an address of TCP or, where that is empty, on the socket. It
// reports whether the answer's status is 200.
func (f *clientFlags) probe(ctx context.Context, address, path string) (text string, ok bool, err error) {
	if err := f.check(); err != nil && address == "" {
		return "", false, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	host := "flakeward"
	transport := &http.Transport{DisableKeepAlives: true}
	if address == "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", f.socket)
		}
	} else {
		host = address
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return "", false, err
	}
	reply, err := (&http.Client{Transport: transport}).Do(request)
	switch {
	case err != nil && address == "":
		return "", false, f.explain(context.WithoutCancel(ctx), err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "", false, fmt.Errorf("%w listens at %s: %w", errNoDaemon, address, err)
	case err != nil:
		return "", false, err
	}
	defer reply.Body.Close() // it has been read
	body, err := io.ReadAll(io.LimitReader(reply.Body, mostProbe))
	if err != nil {
		return "", false, fmt.Errorf("asking the daemon at %s: %w", cmp.Or(address, f.socket), err)
	}
	return string(body), reply.StatusCode == http.StatusOK, nil
}
