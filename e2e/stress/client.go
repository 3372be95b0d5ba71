package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"

	"github.com/flakeward/flakeward/e2e/idlog"
	"github.com/flakeward/flakeward/e2e/load"
)

// A client is this program started again with these variables: the file to keep IDs in, and the
// seed of its mix of requests. It is told what to do on its standard input and reports on its
// standard output, a line of JSON each.
const (
	clientLog  = "STRESS_CLIENT_LOG"
	clientSeed = "STRESS_CLIENT_SEED"
)

// order is what a client is told. Without a life it is to hold.
type order struct {
	Life   uint32 `json:"life,omitempty"` // pull in this life of the daemon
	Socket string `json:"socket,omitempty"`
}

// report is what a client says.
type report struct {
	Life   uint32       `json:"life"`
	Got    uint64       `json:"got,omitempty"`  // IDs by now
	Held   bool         `json:"held,omitempty"` // the last requests are sent
	Ending *load.Ending `json:"ending,omitempty"`
	Error  string       `json:"error,omitempty"` // the client is of no use any more
}

func isClient() bool { return os.Getenv(clientLog) != "" }

func clientMain() int {
	if err := client(os.Stdin, os.Stdout, os.Getenv(clientLog), os.Getenv(clientSeed)); err != nil {
		fmt.Fprintln(os.Stderr, "stress: a client:", err)
		return 1
	}
	return 0
}

// client follows the orders on in until it ends.
func client(in io.Reader, out io.Writer, path, seedText string) (err error) {
	seed, err := strconv.ParseUint(seedText, 10, 64)
	if err != nil {
		return fmt.Errorf("$%s: %w", clientSeed, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	ctx, end := context.WithCancel(context.Background())
	lives := make(chan order)
	w := newWorker(out, file, seed)
	var working sync.WaitGroup
	working.Go(func() { w.run(ctx, lives) })
	defer working.Wait()
	defer end() // whoever gave the orders is gone
	for orders := json.NewDecoder(in); ; {
		var o order
		if err := orders.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("an order: %w", err)
		}
		if o.Life == 0 {
			w.puller.Hold()
			continue
		}
		lives <- o // only given once the last one has ended
	}
}

// worker pulls, and reports.
type worker struct {
	puller *load.Puller
	life   uint32
	out    *json.Encoder
}

func newWorker(out io.Writer, file io.Writer, seed uint64) *worker {
	w := &worker{out: json.NewEncoder(out)}
	w.puller = &load.Puller{
		Random: rand.New(rand.NewPCG(seed, 0)),
		Keep:   idlog.NewWriter(file),
		Got:    func(ids uint64) { w.say(report{Got: ids}) },
		Held:   func() { w.say(report{Held: true}) },
	}
	return w
}

// say reports. Where that fails nobody is there to be told, and the orders end as well.
func (w *worker) say(r report) {
	r.Life = w.life
	_ = w.out.Encode(r)
}

// run pulls in one life after the other until ctx ends. After an error it only says so.
func (w *worker) run(ctx context.Context, lives <-chan order) {
	var broken error
	for {
		select {
		case o := <-lives:
			w.life = o.Life
			var ending load.Ending
			if broken == nil {
				ending, broken = w.puller.Pull(ctx, o.Socket, o.Life)
			}
			if broken != nil {
				w.say(report{Error: broken.Error()})
				continue
			}
			w.say(report{Ending: &ending})
		case <-ctx.Done():
			return
		}
	}
}
