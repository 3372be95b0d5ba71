package takeover

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// renewTimeout bounds how long Renew waits. A newcomer gives up earlier by itself.
const renewTimeout = 2 * time.Minute

// Asker waits until the running daemon was replaced.
type Asker struct{ link link }

// Answer tells the asker that a newcomer has taken over, or why none has.
func (a *Asker) Answer(ctx context.Context, err error) {
	defer a.link.Close() // all has been said
	if err != nil {
		_ = a.link.refuse(ctx, err.Error())
		return
	}
	_ = a.link.send(ctx, message{Kind: renewed}, stillTimeout)
}

// Renew asks the daemon that runs on the state directory at dir to start its program anew, and
// returns once that has taken over. The error says why it has not, and is ErrNobody if no daemon
// runs.
func Renew(ctx context.Context, dir string) error {
	c, err := dial(ctx, dir)
	if err != nil {
		return err
	}
	defer c.Close() // all has been said
	if err := c.send(ctx, message{Kind: renew, Protocol: Protocol}, stillTimeout); err != nil {
		return err
	}
	_, descriptors, err := c.receive(ctx, renewed, renewTimeout)
	closeAll(descriptors)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("the running daemon goes on: %s", refused.Reason)
	case err != nil:
		return fmt.Errorf("the running daemon has not said that another took over: %w", err)
	}
	return nil
}
