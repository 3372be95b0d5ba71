package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/wire"
)

// answers counts the clock guard's answers that cost something, as INFO shows them.
type answers struct{ Sleep, Ring, ReLease, Backfill, Wait uint64 }

func (a answers) minus(b answers) answers {
	return answers{a.Sleep - b.Sleep, a.Ring - b.Ring, a.ReLease - b.ReLease, a.Backfill - b.Backfill, a.Wait - b.Wait}
}

// strongest is the answer that cost most; empty if there was none.
func (a answers) strongest() string {
	switch {
	case a.Wait > 0:
		return "wait"
	case a.Backfill > 0:
		return "backfill"
	case a.ReLease > 0:
		return "re-lease"
	case a.Ring > 0:
		return "ring"
	case a.Sleep > 0:
		return "sleep"
	}
	return ""
}

// setback is one way to set the clock back.
type setback struct {
	By     time.Duration
	Answer string        // the one it should get
	Limit  time.Duration // of the longest stall; printed
	Watch  time.Duration // how long answers are watched from the step on: until the clock is back where it was, or the other worker ID serves
}

var setbacks = [...]setback{
	{3 * time.Millisecond, "sleep", 10 * time.Millisecond, 500 * time.Millisecond},
	{150 * time.Millisecond, "ring", 5 * time.Millisecond, 650 * time.Millisecond},
	{1500 * time.Millisecond, "ring", 5 * time.Millisecond, 2 * time.Second},
	{10 * time.Second, "re-lease", 100 * time.Millisecond, time.Second},
	{time.Hour, "re-lease", 100 * time.Millisecond, time.Second},
}

const (
	settle = 500 * time.Millisecond // of steady answers before each step
	// attempts is how often a step is repeated that fell between two requests and so was never
	// noticed. Where the machine is busy with other things most of the short ones are.
	attempts     = 200
	longestWatch = 10 * time.Minute
)

// rollbacks is what came of setting clocks back.
type rollbacks struct {
	rows    [len(setbacks)]rollbackRow
	daemons int
	ids     uint64
	same    uint64 // duplicates
	refused uint64
}

type rollbackRow struct {
	got            answers // of all daemons
	kinds          []string
	steady, stalls []time.Duration
}

// measure runs one daemon on a new state directory under a steady load and sets its clock back in
// all the ways.
func (r *rollbacks) measure(ctx context.Context, binary, dir string, rate int, flags ...string) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestWatch, errors.New("a daemon takes too long"))
	defer cancel()
	host, err := process.NewHost(binary, dir, flags...)
	if err != nil {
		return err
	}
	daemon, err := host.Start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = daemon.Stop(ctx)
		} else {
			err = fmt.Errorf("%w\n%s", err, daemon.Tail())
		}
		cancel()
		<-daemon.Ended()
	}()
	if err := daemon.Await(ctx, readyMessage); err != nil {
		return err
	}
	stream, err := load.OpenStream(ctx, host.Socket, rate)
	if err != nil {
		return err
	}
	for i := range setbacks {
		if err = r.setBack(ctx, i, host, stream, rate); err != nil {
			break
		}
	}
	ids, refused, ended := stream.Close()
	if err = errors.Join(err, ended); err != nil {
		return err
	}
	same := received.FindDuplicates(ids)
	r.daemons++
	r.ids += same.IDs
	r.same += same.Repeated
	r.refused += refused
	return nil
}

// setBack sets the clock back in one way, and notes what the daemon answered and how the client
// fared.
func (r *rollbacks) setBack(ctx context.Context, i int, host *process.Host, stream *load.Stream, rate int) error {
	s, row := setbacks[i], &r.rows[i]
	within := func(d time.Duration) int { return 1 + int(float64(rate)*d.Seconds()) }
	var got answers
	for try := 0; got.strongest() == ""; try++ {
		if try == attempts {
			return fmt.Errorf("the clock was set back by %v %d times and the daemon never noticed", s.By, attempts)
		}
		if err := stream.Await(ctx, within(settle)); err != nil { // what went before is over
			return err
		}
		stream.LongestGap()
		if err := stream.Await(ctx, within(settle)); err != nil {
			return err
		}
		was, err := guardAnswers(ctx, host.Socket)
		if err != nil {
			return err
		}
		steady := stream.LongestGap()
		if err := host.Clock.Set(host.Clock.Offset() - s.By); err != nil {
			return err
		}
		if err := stream.Await(ctx, within(s.Watch)); err != nil {
			return err
		}
		stall := stream.LongestGap()
		is, err := guardAnswers(ctx, host.Socket)
		if err != nil {
			return err
		}
		if got = is.minus(was); got.strongest() == "" {
			continue
		}
		row.steady = append(row.steady, steady)
		row.stalls = append(row.stalls, stall)
	}
	row.got = answers{row.got.Sleep + got.Sleep, row.got.Ring + got.Ring, row.got.ReLease + got.ReLease, row.got.Backfill + got.Backfill, row.got.Wait + got.Wait}
	row.kinds = append(row.kinds, got.strongest())
	return nil
}

// guardAnswers asks the daemon for its counts.
func guardAnswers(ctx context.Context, socket string) (a answers, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return a, err
	}
	defer conn.Close() //nolint:errcheck // the answer is read
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := conn.Write(wire.AppendCommand(nil, "INFO", "GUARD")); err != nil {
		return a, err
	}
	text, err := wire.NewReader(conn).Bulk()
	if err != nil {
		return a, err
	}
	return parseAnswers(text)
}

// parseAnswers reads the lines of INFO.
func parseAnswers(text string) (a answers, err error) {
	said := info.Parse(text)
	for key, to := range map[string]*uint64{"sleep": &a.Sleep, "ring": &a.Ring, "release": &a.ReLease, "backfill": &a.Backfill, "wait": &a.Wait} {
		value, _ := said.Get("answered_" + key)
		if *to, err = strconv.ParseUint(value, 10, 64); err != nil {
			return a, fmt.Errorf("INFO does not say how often the clock guard answered by %s: %q: %w", key, text, err)
		}
	}
	return a, nil
}

// verdict is an error if an ID came twice, or a step got another answer than it should.
func (r *rollbacks) verdict() error {
	var errs []error
	if r.same > 0 {
		errs = append(errs, fmt.Errorf("%d duplicates after the clock was set back", r.same))
	}
	for i, row := range r.rows {
		for _, kind := range row.kinds {
			if kind != setbacks[i].Answer {
				errs = append(errs, fmt.Errorf("a clock set back by %v was answered by %s (%+v), not by %s", setbacks[i].By, kind, row.got, setbacks[i].Answer))
				break
			}
		}
	}
	return errors.Join(errs...)
}

func (r *rollbacks) print(out io.Writer, rate int) {
	fmt.Fprintf(out, "\nROLLBACK UNDER LOAD  %d IDs/s asked for by one client; %d daemons; stalls in ms\n", rate, r.daemons)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "clock back\tanswer\tsleep\tring\tre-lease\tbefore, median\tmax\tstall, median\tmax\tlimit\t")
	for i, row := range r.rows {
		s := setbacks[i]
		fmt.Fprintf(w, "%v\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t\n", s.By, strings.Join(slices.Compact(slices.Sorted(slices.Values(row.kinds))), "/"),
			row.got.Sleep, row.got.Ring, row.got.ReLease,
			inMillis(median(row.steady)), inMillis(slices.Max(row.steady)), inMillis(median(row.stalls)), inMillis(slices.Max(row.stalls)), inMillis(s.Limit))
	}
	_ = w.Flush()
	fmt.Fprintf(out, "IDs %d  duplicates %d  refused %d\n", r.ids, r.same, r.refused)
}

func inMillis(d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
}
