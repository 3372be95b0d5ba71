package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// abuse is one way to misuse a daemon.
type abuse struct {
	name        string
	flags       []string // of the daemon
	descriptors int      // its limit; 0: this process's
	connections int
	anew        bool // the other clients connect for each request
	log         logPipe
	alone       bool // the abuser's user is not served, so none of its clients is measured
	// act uses one connection until it ends or ctx does; nil: the connection is only held.
	act func(ctx context.Context, c net.Conn)
}

var abuses = append([]abuse{
	{name: "nothing"},
	{name: "refusals-unread", connections: 1000, act: unread("X\r\n")},
	{name: "refusals-unread-10000", connections: 10000, act: unread("X\r\n")},
	{name: "batches-unread", connections: 1000, act: unread("NEXT 60000\r\n")},
	{name: "ids-unread-10000", connections: 10000, act: unread("*1\r\n$4\r\nNEXT\r\n")},
	{name: "batches-unread-10000", connections: 10000, act: unread("NEXT 1000\r\n")},
	{name: "runs-unread-10000", connections: 10000, act: unread("RUN 65536\r\n")},
	{name: "mixed-unread-10000", connections: 10000, act: unread("NEXT 700\r\nX\r\nRUN 64\r\nNEXT\r\nINFO\r\n")},
	{name: "half-requests", connections: 4000, act: half},
	{name: "half-requests-10000", connections: 10000, act: half},
	{name: "crowd", connections: 1000, act: crowd},
	{name: "crowd-10000", connections: 10000, act: crowd},
	{name: "connections-10000", connections: 10000, act: once},
	{name: "connections-over-the-limit", flags: []string{"--max-connections=100"}, connections: 400},
	{name: "descriptors-128", descriptors: 128, connections: 400},
	{name: "connects", connections: 100, anew: true, act: brief},
	{name: "connects-refused", flags: []string{"--allow-uid=0"}, connections: 100, anew: true, alone: true},
	{name: "log-unread", flags: []string{"--allow-uid=0"}, log: unreadLog, connections: 100, alone: true},
	{name: "log-closed", flags: []string{"--allow-uid=0"}, log: closedLog, connections: 100, alone: true},
	{name: "over-the-rate", flags: []string{"--rate=5000/s"}, connections: 1000, act: crowd},
	{name: "singles-over-the-rate", flags: []string{"--rate=2000/s"}, connections: 3000, act: singles},
}, webAbuses...)

func find(name string) (abuse, bool) {
	i := slices.IndexFunc(abuses, func(a abuse) bool { return a.name == name })
	if i < 0 {
		return abuse{}, false
	}
	return abuses[i], true
}

// be connects as often as the abuse says, again and again where a connection ends, until ctx does.
// Root becomes that user first.
func be(ctx context.Context, name, socket string, uid int) error {
	a, ok := find(name)
	if !ok {
		return fmt.Errorf("there is no abuse %q", name)
	}
	if err := become(uid); err != nil {
		return err
	}
	var all sync.WaitGroup
	for range a.connections {
		all.Go(func() {
			for ctx.Err() == nil {
				a.connect(ctx, socket)
			}
		})
	}
	all.Wait()
	return nil
}

// become makes this process the user's, if it may.
func become(uid int) error {
	if os.Getuid() == 0 && uid != 0 {
		if err := syscall.Setuid(uid); err != nil {
			return fmt.Errorf("becoming user %d: %w", uid, err)
		}
	}
	return nil
}

func (a abuse) connect(ctx context.Context, socket string) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		pause(ctx, 10*time.Millisecond) // the queue of those who wait to be accepted is full
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer c.Close() // nothing is written that could be lost
	if a.act != nil {
		a.act(ctx, c)
	}
	// Until the daemon ends it: what it sends is not read, except for its end.
	var rest [1]byte
	for a.act == nil || ctx.Err() == nil {
		if _, err := c.Read(rest[:]); err != nil {
			return
		}
		if a.act != nil {
			pause(ctx, time.Second) // so slowly that it amounts to nothing
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
}

// unread sends a request as often as the daemon takes it, and reads no reply.
func unread(request string) func(context.Context, net.Conn) {
	many := []byte(strings.Repeat(request, 1+64<<10/len(request)))
	return func(ctx context.Context, c net.Conn) {
		for ctx.Err() == nil {
			if _, err := c.Write(many); err != nil {
				return
			}
		}
	}
}

// half sends nearly all of the longest request there may be.
func half(_ context.Context, c net.Conn) {
	argument := "$4000\r\n" + strings.Repeat("x", 4000) + "\r\n"
	_, _ = c.Write([]byte("*1000\r\n" + strings.Repeat(argument, 16)))
}

// crowd asks for the longest runs there are, and again at once, whatever the answer was.
func crowd(ctx context.Context, c net.Conn) {
	reply := make([]byte, 4<<10)
	for ctx.Err() == nil {
		if _, err := c.Write([]byte("RUN 65536\r\n")); err != nil {
			return
		}
		if _, err := c.Read(reply); err != nil {
			return
		}
	}
}

// once asks for one ID.
func once(_ context.Context, c net.Conn) {
	_, _ = c.Write([]byte("NEXT\r\n"))
}

// singles asks for one ID, and again at once.
func singles(ctx context.Context, c net.Conn) {
	for ctx.Err() == nil && ask(c) == nil {
	}
}

// brief asks for one ID and goes.
func brief(_ context.Context, c net.Conn) {
	_ = ask(c)
	_ = c.Close() // nothing is written that could be lost
}
