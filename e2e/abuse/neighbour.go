package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// asNeighbour is what the program is told to be a client that asks for an ID each millisecond.
const asNeighbour = "neighbour"

// seen is what such a client saw.
type seen struct {
	took []time.Duration // sorted
	end  string          // why it ended before its time
}

// startNeighbour starts a client in a process of its own, which is connected when this returns. The
// result comes once it has ended.
func startNeighbour(ctx context.Context, socket string, uid int, anew bool, lasts time.Duration) (func() (seen, error), error) {
	command := exec.CommandContext(ctx, os.Args[0], "-as", asNeighbour, "-socket", socket, "-uid", strconv.Itoa(uid), "-for", lasts.String(), "-anew="+strconv.FormatBool(anew))
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		return nil, fmt.Errorf("a neighbour does not start: %w", command.Wait())
	}
	result := make(chan seen, 1)
	go func() {
		var s seen
		for lines.Scan() {
			if ns, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				s.took = append(s.took, time.Duration(ns))
			} else {
				s.end = lines.Text()
			}
		}
		slices.Sort(s.took)
		result <- s
	}()
	return func() (seen, error) { return <-result, command.Wait() }, nil
}

// beNeighbour asks until the time is over, or the daemon ends the connection, and prints how long
// each request took.
func beNeighbour(ctx context.Context, socket string, uid int, anew bool, lasts time.Duration, stdout io.Writer) error {
	if err := become(uid); err != nil {
		return err
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // nothing is written that could be lost
	if err := ask(c); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "ready") // to a pipe
	ctx, enough := context.WithTimeout(ctx, lasts)
	defer enough()
	var took []time.Duration
	next := time.NewTicker(time.Millisecond)
	defer next.Stop()
	for ctx.Err() == nil && err == nil {
		<-next.C
		begun := time.Now()
		if anew {
			_ = c.Close() // as above
			if c, err = net.Dial("unix", socket); err != nil {
				return err
			}
		}
		if err = ask(c); err == nil {
			took = append(took, time.Since(begun))
		}
	}
	out := bufio.NewWriter(stdout)
	for _, t := range took {
		fmt.Fprintln(out, t.Nanoseconds()) // Flush tells
	}
	if err != nil {
		fmt.Fprintln(out, err) // Flush tells
	}
	return out.Flush()
}

// at is a quantile in milliseconds.
func (s seen) at(q float64) float64 {
	if len(s.took) == 0 {
		return 0
	}
	return float64(s.took[min(len(s.took)-1, int(q*float64(len(s.took))))]) / float64(time.Millisecond)
}

// cells are the median, the p99 and the longest, in milliseconds, and how many were answered; empty
// if there was no such client.
func (s seen) cells() []string {
	if len(s.took) == 0 && s.end == "" {
		return make([]string, 4)
	}
	answered := strconv.Itoa(len(s.took))
	if s.end != "" {
		answered += " (" + s.end + ")"
	}
	cells := []string{"", "", "", answered}
	for i, q := range []float64{0.5, 0.99, 1} {
		cells[i] = fmt.Sprintf("%.2f", s.at(q))
	}
	return cells
}
