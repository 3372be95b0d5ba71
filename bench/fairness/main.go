// Command fairness measures how long a single ID takes while a crowd asks for as much as it can get:
// one connection sends NEXT, and hundreds of others RUN 65536, as another user and as the same one.
// It shows what share of the lane the crowd still has, too.
//
//	go build . && sudo go run ./bench/fairness -daemon ./flakeward
//
// Only root can run the crowd under another UID; for others there is the crowd of the same one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/tool"
	"github.com/flakeward/flakeward/internal/wire"
)

func main() { tool.Main("fairness", run) }

// options is what the program can be told.
type options struct {
	daemon   string
	layout   string
	duration time.Duration
	uid      int
	crowd    string // the socket, in the crowd's own process
	size     int
	count    int
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("fairness", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.daemon, "daemon", "./flakeward", "the program to measure")
	flags.StringVar(&o.layout, "layout", "flakeward", "the layout of its IDs")
	flags.DurationVar(&o.duration, "duration", 5*time.Second, "how long each case takes")
	flags.IntVar(&o.uid, "uid", 65534, "whose the crowd is where it is another user's")
	flags.IntVar(&o.count, "count", 65536, "IDs in each of the crowd's requests")
	flags.StringVar(&o.crowd, "crowd", "", "be the crowd, on that socket (for the program itself)")
	flags.IntVar(&o.size, "size", 0, "the crowd's connections (for the program itself)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.crowd != "" {
		got, err := o.beCrowd(ctx)
		fmt.Fprintln(stdout, got.ids, got.refused)
		return err
	}
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	defer out.Flush() //nolint:errcheck // the terminal's
	fmt.Fprintln(out, "crowd\tuser\tNEXT\tp50\tp99\tlongest\trefused\tlane's IDs/s\tof it all\trefused")
	for _, size := range []int{0, 50, 1000} {
		for _, other := range []bool{false, true} {
			if other && (size == 0 || os.Getuid() != 0) {
				continue
			}
			if err := o.measure(ctx, out, size, other); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure makes a daemon and one row of the table.
func (o options) measure(ctx context.Context, out io.Writer, size int, other bool) error {
	dir, err := os.MkdirTemp("", "fairness")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing depends on it
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	socket := filepath.Join(dir, "s")
	daemon := exec.CommandContext(ctx, o.daemon, "daemon", "--socket", socket, "--socket-mode", "0666",
		"--state-dir", filepath.Join(dir, "state"), "--coord", "embedded:", "--layout", o.layout)
	daemon.Cancel = func() error { return daemon.Process.Signal(syscall.SIGTERM) }
	if err := daemon.Start(); err != nil {
		return err
	}
	defer func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
	}()
	if err := ready(ctx, socket); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	begun, before := time.Now(), issued(socket)
	var crowd got
	var ended sync.WaitGroup
	if size > 0 {
		ended.Go(func() {
			var e error
			crowd, e = o.startCrowd(ctx, socket, size, other)
			err = errors.Join(err, e)
		})
	}
	took, refused, e := ask(ctx, socket)
	rate := float64(issued(socket)-before) / time.Since(begun).Seconds()
	ended.Wait()
	if err = errors.Join(err, e); err != nil {
		return err
	}
	slices.Sort(took)
	user := "the same"
	if other {
		user = "another"
	}
	at := func(part float64) time.Duration {
		return took[int(part*float64(len(took)-1))].Round(time.Microsecond)
	}
	fmt.Fprintf(out, "%d\t%s\t%d\t%v\t%v\t%v\t%d\t%.0f\t%.1f %%\t%d\n", size, user, len(took), at(0.5), at(0.99), at(1),
		refused, rate, 100*rate/perSecond[o.layout], crowd.refused)
	return nil
}

// issued is what the daemon has issued; 0 if it does not say.
func issued(socket string) (n uint64) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return 0
	}
	defer c.Close() //nolint:errcheck // it was read to the end
	if _, err := c.Write(wire.AppendCommand(nil, "INFO", "stats")); err != nil {
		return 0
	}
	text, _ := wire.NewReader(c).Bulk()
	value, _ := info.Parse(text).Get("total_ids_issued")
	n, _ = strconv.ParseUint(value, 10, 64)
	return n
}

// perSecond is what a lane has.
var perSecond = map[string]float64{"flakeward": 4096e3, "twitter": 4096e3, "sonyflake": 25600, "js53": 25600}

// ready waits until the daemon gives an ID.
func ready(ctx context.Context, socket string) error {
	for {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_, err = c.Write(next)
			if err == nil {
				_, err = wire.NewReader(c).Int()
			}
			_ = c.Close()
			if err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

var next = wire.AppendCommand(nil, "NEXT")

// ask asks for one ID after the other, a millisecond apart, until ctx ends.
func ask(ctx context.Context, socket string) (took []time.Duration, refused int, err error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, 0, err
	}
	defer c.Close() //nolint:errcheck // it was read to the end
	in := wire.NewReader(c)
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for ctx.Err() == nil {
		begun := time.Now()
		if _, err := c.Write(next); err != nil {
			return took, refused, err
		}
		_, err := in.Int()
		took = append(took, time.Since(begun))
		var refusal wire.Refused
		switch {
		case errors.As(err, &refusal):
			refused++
		case err != nil:
			return took, refused, err
		}
		<-pause.C
	}
	return took, refused, nil
}

// got is what a crowd got.
type got struct{ ids, refused uint64 }

// startCrowd runs this program again, as the crowd.
func (o options) startCrowd(ctx context.Context, socket string, size int, other bool) (g got, err error) {
	crowd := exec.CommandContext(ctx, "/proc/self/exe", "-crowd", socket, "-size", strconv.Itoa(size),
		"-count", strconv.Itoa(o.count), "-duration", o.duration.String())
	crowd.Cancel = func() error { return nil } // it ends by itself
	crowd.WaitDelay = 10 * time.Second
	crowd.Stderr = os.Stderr
	if other {
		crowd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.uid)}}
	}
	text, err := crowd.Output()
	if _, e := fmt.Sscan(string(text), &g.ids, &g.refused); e != nil {
		return g, errors.Join(err, e)
	}
	if ctx.Err() != nil {
		err = nil
	}
	return g, err
}

// beCrowd asks on many connections at once, and again at once whatever the answer was.
func (o options) beCrowd(ctx context.Context) (g got, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	request := wire.AppendCommand(nil, "RUN", strconv.Itoa(o.count))
	var mu sync.Mutex
	var all sync.WaitGroup
	for range o.size {
		all.Go(func() {
			own, e := crowdOne(ctx, o.crowd, request, int64(o.count))
			mu.Lock()
			defer mu.Unlock()
			g.ids, g.refused = g.ids+own.ids, g.refused+own.refused
			if ctx.Err() == nil {
				err = errors.Join(err, e)
			}
		})
	}
	all.Wait()
	return g, err
}

func crowdOne(ctx context.Context, socket string, request []byte, count int64) (g got, err error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return g, err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	in := wire.NewReader(c)
	var pairs []wire.Pair
	for {
		if _, err := c.Write(request); err != nil {
			return g, err
		}
		pairs, _, err = in.Runs(pairs[:0], count)
		var refusal wire.Refused
		switch {
		case errors.As(err, &refusal):
			g.refused++
		case err != nil:
			return g, err
		}
		for _, p := range pairs {
			g.ids += uint64(p.N)
		}
	}
}
