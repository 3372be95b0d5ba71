package zkserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

func ask(ctx context.Context, address, word string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close() // the answer is there, or the error is
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// standing is what a member says of itself.
type standing struct {
	mode string // standalone, leader, follower; empty while it does not serve
	zxid uint64
}

const (
	pollPause  = 10 * time.Millisecond
	pollAnswer = time.Second // a server that just came up may take a connection and not answer it
)

// stand asks the member. No answer is no error: it is a member that does not serve.
func (m *member) stand(ctx context.Context) standing {
	ctx, cancel := context.WithTimeout(ctx, pollAnswer)
	defer cancel()
	var s standing
	answer, err := ask(ctx, m.client.Address(), "srvr")
	if err != nil {
		return s
	}
	for line := range strings.Lines(answer) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Mode":
			s.mode = value
		case "Zxid":
			s.zxid, _ = strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
		}
	}
	if m.secure.Number != 0 && !answers(ctx, m.secure.Address()) {
		s.mode = "" // it opens its ports one after the other
	}
	return s
}

func answers(ctx context.Context, address string) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// pause waits a moment between two looks.
func pause(ctx context.Context) error {
	timer := time.NewTimer(pollPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Ready waits until each of the given members, or all that run, serves clients. It is
// an error if one ends meanwhile.
func (e *Ensemble) Ready(ctx context.Context, members ...int) error {
	if len(members) == 0 {
		for i, m := range e.members {
			if m.active() {
				members = append(members, i)
			}
		}
	}
	for _, i := range members {
		m := e.members[i]
		for m.stand(ctx).mode == "" {
			if !m.running() {
				return fmt.Errorf("ZooKeeper server %d ended before it served%s", i, m.said())
			}
			if err := pause(ctx); err != nil {
				return fmt.Errorf("ZooKeeper server %d does not serve: %w%s", i, err, m.said())
			}
		}
	}
	return nil
}

var errNoMajority = errors.New("no majority of the ZooKeeper servers runs, so none can lead: start more of them")

// Leader waits until one of the members that run leads, and says which.
func (e *Ensemble) Leader(ctx context.Context) (int, error) {
	if !e.majority() {
		return 0, errNoMajority
	}
	for {
		leader, zxid := -1, uint64(0)
		for i, m := range e.members {
			if !m.active() {
				continue
			}
			s := m.stand(ctx)
			// One that was paused may still believe that it leads: the later epoch,
			// which a zxid begins with, is that of the one that does.
			if (s.mode == "leader" || s.mode == "standalone") && (leader < 0 || s.zxid > zxid) {
				leader, zxid = i, s.zxid
			}
		}
		if leader >= 0 {
			return leader, nil
		}
		if err := pause(ctx); err != nil {
			return 0, fmt.Errorf("no ZooKeeper server leads: %w", err)
		}
	}
}
