package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/daemon/tcp"
	"github.com/flakeward/flakeward/generator"
)

// askTimeout bounds the question to the coordinator.
const askTimeout = 5 * time.Second

// Check returns all that a start would be refused for on this host, besides what Validate finds:
// the socket's path and group, the coordinator's directory, the files for the coordinator and for
// --listen, and a layout whose time is over. It writes nothing. That another daemon runs on the
// same paths is no fault of the settings.
func (c Config) Check() error {
	_, group := groupID(c.Socket.Group)
	access, err := c.Access()
	if err == nil {
		_, err = access.TLS.Config(access.Log)
		err = errors.Join(err, access.Check())
	}
	_, password := tcp.New(c.Listen)
	return errors.Join(group, socketfile.Check(c.Socket.Path), err, password, c.checkTime())
}

// checkTime returns that the layout's time is over by the clock. A clock that shows a time before
// the layout begins is waited for.
func (c Config) checkTime() error {
	layout, err := generator.ParseLayout(c.IDs.Layout)
	if err != nil {
		return nil // Validate says so
	}
	clock := c.Clock
	if clock == nil {
		clock = clockguard.System{}
	}
	if now := time.Unix(0, clock.Now().Wall); !now.Before(layout.End()) {
		return fmt.Errorf("--layout: %w", layout.CheckTime(now))
	}
	return nil
}

// CheckCoordinator asks the coordinator whether a start would be refused there, and returns in a
// line what it says. It writes nothing. The error is also that the coordinator does not answer, for
// which a start would wait. The configuration has been validated.
func (c Config) CheckCoordinator(ctx context.Context) (string, error) {
	coordinator := c.coordinator()
	layout, err := generator.ParseLayout(c.IDs.Layout)
	if err != nil {
		return "", err
	}
	access, err := c.Access()
	if err != nil {
		return "", err
	}
	o, err := connect.Operate(access)
	if err != nil {
		return "", err
	}
	defer o.Close() // nothing was written
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	found, err := o.Inspect(ctx)
	if err == nil {
		err = c.joins(layout).Fits(found)
	}
	switch {
	case errors.Is(err, coord.ErrNoCluster) && coordinator.Local:
		return fmt.Sprintf("the coordinator %s holds no cluster yet: the daemon would make it", coordinator.Text), nil
	case err != nil:
		return "", fmt.Errorf("coordinator %q: %w", coordinator.Text, err)
	}
	return fmt.Sprintf("the coordinator %s holds cluster %s", coordinator.Text, found.UUID), nil
}
