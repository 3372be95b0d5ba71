// Command openloop puts an open-loop load on a server that speaks RESP over a Unix socket, and
// prints how long requests took.
//
//	go run ./bench/openloop -socket /run/flakeward/flakeward.sock -rate 50000 -connections 50 -length 10s NEXT
//	go run ./bench/openloop -socket /run/redis.sock -rate 50000 -connections 50 -length 10s INCR k
//
// Latency counts from the time at which a request was to be sent, whatever was unanswered then.
// "late" is how long after that time the generator wrote it: where the two are close, it was the
// generator, or the machine, that was slow.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flakeward/flakeward/bench/pace"
	"github.com/flakeward/flakeward/internal/tool"
)

func main() { tool.Main("openloop", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	l, asJSON, err := parse(args, stderr)
	if err != nil {
		return err
	}
	r, err := pace.Run(ctx, l)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(stdout).Encode(r)
	}
	_, err = fmt.Fprintf(stdout, "sent     %d, refused %d, unanswered %d; %.0f IDs/s\nlatency  %v\nlate     %v\nCPU      %.2f cores for the generator\n",
		r.Sent, r.Refused, r.Unanswered, float64(r.IDs)/l.Length.Seconds(), r.Latency, r.Late, r.CPU)
	return err
}

func parse(args []string, stderr io.Writer) (l pace.Load, asJSON bool, err error) {
	flags := flag.NewFlagSet("openloop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var command string
	flags.StringVar(&l.Socket, "socket", "", "the server's Unix socket")
	flags.StringVar(&command, "command", "NEXT", "the request, its words separated by blanks; or give the words as arguments")
	flags.Float64Var(&l.Rate, "rate", 50000, "requests a second")
	flags.IntVar(&l.Connections, "connections", 50, "how many connections")
	flags.DurationVar(&l.Warm, "warm", time.Second, "not counted")
	flags.DurationVar(&l.Length, "length", 10*time.Second, "counted, after that")
	flags.BoolVar(&l.Fixed, "fixed", false, "equal times between requests, connections in turn, instead of a Poisson process")
	flags.Uint64Var(&l.Seed, "seed", 1, "of the Poisson process")
	flags.DurationVar(&l.Spin, "spin", pace.DefaultSpin, "how long before a request's time the generator stops sleeping and polls")
	flags.BoolVar(&asJSON, "json", false, "print everything, in JSON, durations in nanoseconds")
	if err := flags.Parse(args); err != nil {
		return l, false, err
	}
	if l.Request = flags.Args(); len(l.Request) == 0 {
		l.Request = strings.Fields(command)
	}
	l.Runs = len(l.Request) > 0 && strings.EqualFold(l.Request[0], "RUN")
	return l, asJSON, l.Check()
}
