package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/flakeward/flakeward/e2e/idlog"
	"github.com/flakeward/flakeward/internal/process"
)

// crew is the client processes.
type crew struct {
	members []*member
	reports chan said
	end     context.CancelFunc
	parts   sync.WaitGroup
}

type member struct {
	command *exec.Cmd
	orders  io.WriteCloser
	path    string // of the IDs that it keeps
	read    int64  // bytes of them that were read
}

// said is a report and whose it is.
type said struct {
	member int
	report
}

// startCrew starts n clients that keep their IDs below dir. They end with ctx, or with this
// process.
func startCrew(ctx context.Context, n int, dir string, seed uint64) (*crew, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	c := &crew{reports: make(chan said), end: end}
	for i := range n {
		m := &member{command: exec.CommandContext(ctx, program), path: filepath.Join(dir, fmt.Sprintf("ids-%d", i))}
		m.command.Env = append(os.Environ(), clientLog+"="+m.path, clientSeed+"="+strconv.FormatUint(seed+uint64(i)+1, 10))
		m.command.SysProcAttr = process.Orphanless()
		m.command.Stderr = os.Stderr
		out, err := m.start()
		if err != nil {
			c.close()
			return nil, fmt.Errorf("cannot start a client: %w", err)
		}
		c.members = append(c.members, m)
		c.parts.Go(func() {
			c.listen(ctx, i, out)
			_ = m.command.Wait() // how it ended was reported, or is the missing report
		})
	}
	return c, nil
}

func (m *member) start() (out io.Reader, err error) {
	if m.orders, err = m.command.StdinPipe(); err != nil {
		return nil, err
	}
	if out, err = m.command.StdoutPipe(); err != nil {
		return nil, err
	}
	return out, m.command.Start()
}

// listen passes on what a client reports.
func (c *crew) listen(ctx context.Context, i int, out io.Reader) {
	decoder := json.NewDecoder(out)
	for {
		var r report
		err := decoder.Decode(&r)
		if err != nil {
			r = report{Error: "it has ended: " + err.Error()}
		}
		select {
		case c.reports <- said{i, r}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// errSilent is that the daemon answers nobody any more.
var errSilent = fmt.Errorf("no client has got anything for %v", longestSilence)

// next is the next report of any client.
func (c *crew) next(ctx context.Context) (said, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestSilence, errSilent)
	defer cancel()
	select {
	case s := <-c.reports:
		if s.Error != "" {
			return s, fmt.Errorf("client %d: %s", s.member, s.Error)
		}
		return s, nil
	case <-ctx.Done():
		return said{}, fmt.Errorf("waiting for the clients: %w", context.Cause(ctx))
	}
}

// pull has all clients pull in a life.
func (c *crew) pull(life uint32, socket string) error {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, json.NewEncoder(m.orders).Encode(order{Life: life, Socket: socket}))
	}
	return errors.Join(errs...)
}

// hold has a client send its last requests.
func (c *crew) hold(member int) error {
	return json.NewEncoder(c.members[member].orders).Encode(order{})
}

// fresh reads the IDs that each client has kept since the last call, all of the same life.
func (c *crew) fresh(life uint32) ([][]int64, error) {
	all := make([][]int64, len(c.members))
	for i, m := range c.members {
		err := m.blocks(m.read, func(l uint32, ids []int64) error {
			if l != life {
				return fmt.Errorf("%s holds IDs of life %d in the place of life %d", m.path, l, life)
			}
			all[i] = append(all[i], ids...)
			return nil
		})
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(m.path)
		if err != nil {
			return nil, err
		}
		m.read = info.Size()
	}
	return all, nil
}

// each hands over all IDs that the clients have kept, with the client and the life they came from.
func (c *crew) each(block func(member int, life uint32, ids []int64)) error {
	for i, m := range c.members {
		err := m.blocks(0, func(life uint32, ids []int64) error {
			block(i, life, ids)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// blocks reads the IDs that a client has kept, from an offset on.
func (m *member) blocks(from int64, block func(life uint32, ids []int64) error) error {
	file, err := os.Open(m.path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	if err := idlog.Read(file, block); err != nil {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	return nil
}

// close ends the clients and waits for them.
func (c *crew) close() {
	for _, m := range c.members {
		_ = m.orders.Close()
	}
	c.end()
	c.parts.Wait()
}
