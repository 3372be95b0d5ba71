package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

func healthCommand(own paths) *urfave.Command {
	flags := newClientFlags(own)
	return withConfig(&urfave.Command{
		Name:  "health",
		Usage: "tell whether the daemon on this host can issue IDs, for probes that run a command",
		Description: fmt.Sprintf("Asks /readyz on the daemon's socket, or /livez with --live, and prints the answer.\n"+
			"Ends with status 0 if it is ok, %d if the daemon answers but cannot issue IDs, %d if nobody listens, %d if it failed otherwise.\n"+
			"With --live, the coordinator does not matter: restart the daemon where this fails, and not where it is only not ready.",
			ExitNotReady, ExitNoDaemon, ExitFailed),
		Flags: append(flags.flags(), &urfave.BoolFlag{Name: "live", Usage: "only whether the daemon serves, whatever it can issue"}),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			path := "/readyz"
			if c.Bool("live") {
				path = "/livez"
			}
			text, ok, err := flags.probe(c.Context, path)
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("%w: %s", errNotReady, strings.TrimSpace(strings.ReplaceAll(text, "\n", "; ")))
			}
			_, err = fmt.Fprint(c.App.Writer, text)
			return err
		},
	})
}

// mostProbe bounds the answer to a probe, in bytes.
const mostProbe = 64 << 10

// probe asks the daemon over HTTP, and reports whether the answer's status is 200.
func (f *clientFlags) probe(ctx context.Context, path string) (text string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := f.own.checkDir(f.socket); err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", f.socket)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://flakeward"+path, nil)
	if err != nil {
		return "", false, err
	}
	reply, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", false, (&client{socket: f.socket}).explain(context.WithoutCancel(ctx), err)
	}
	defer reply.Body.Close() //nolint:errcheck // it has been read
	body, err := io.ReadAll(io.LimitReader(reply.Body, mostProbe))
	if err != nil {
		return "", false, fmt.Errorf("asking the daemon at %s: %w", f.socket, err)
	}
	return string(body), reply.StatusCode == http.StatusOK, nil
}
