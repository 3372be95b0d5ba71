package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// counter passes connections on to a server and counts their bytes.
type counter struct {
	listener       net.Listener
	target         string
	sent, received atomic.Int64 // to the server, from it

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once it is closed
	wg    sync.WaitGroup
}

func countBytes(target string) (*counter, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{listener: l, target: target, conns: map[net.Conn]bool{}}
	c.wg.Go(c.accept)
	return c, nil
}

func (c *counter) address() string { return c.listener.Addr().String() }

func (c *counter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.wg.Go(func() { c.serve(client) })
	}
}

func (c *counter) serve(client net.Conn) {
	defer c.forget(client)
	if !c.keep(client) {
		return
	}
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer c.forget(server)
	if !c.keep(server) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		pass(client, server, &c.received)
		_ = client.Close()
	})
	pass(server, client, &c.sent)
	_ = server.Close()
	back.Wait()
}

func pass(to io.Writer, from io.Reader, count *atomic.Int64) {
	buffer := make([]byte, 4<<10)
	for {
		n, err := from.Read(buffer)
		count.Add(int64(n))
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

func (c *counter) keep(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		return false
	}
	c.conns[conn] = true
	return true
}

func (c *counter) forget(conn net.Conn) {
	c.mu.Lock()
	delete(c.conns, conn)
	c.mu.Unlock()
	_ = conn.Close()
}

// close ends all connections.
func (c *counter) close() {
	_ = c.listener.Close()
	c.mu.Lock()
	conns := c.conns
	c.conns = nil
	for conn := range conns {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}

// written is how many bytes were written to the files. Logs are made full of zeros, which those at
// the end are.
func written(pattern string) (sum int64, err error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		n, err := used(f)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// used is the file's size without the zeros at its end.
func used(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	for buffer := make([]byte, 1<<20); end > 0; {
		begin := max(0, end-int64(len(buffer)))
		part := buffer[:end-begin]
		if _, err := f.ReadAt(part, begin); err != nil {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] != 0 {
				return begin + int64(i) + 1, nil
			}
		}
		end = begin
	}
	return 0, nil
}
