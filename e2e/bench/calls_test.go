package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/bench/usage"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
)

const (
	// connections ask for an ID each, one request at a time, and stay open.
	connections = 50
	// ceiling is how many IDs a second the default layout has: 12 bits of sequence in each
	// millisecond.
	ceiling = 4096 * 1000
	// What a benchmark is told a server by.
	servedAt = "FLAKEWARD_BENCH_SOCKET"
	servedBy = "FLAKEWARD_BENCH_PID"
)

// benchmarks runs benchmarks of a test program in a process of its own, and returns their values by
// the benchmark's name and the unit, as in "BenchmarkNext ns/op".
func (s *section) benchmarks(program, names string, long time.Duration, env ...string) sample {
	s.Helper()
	c := exec.CommandContext(s.Context(), program, "-test.run=^$", "-test.bench="+names, "-test.benchtime="+long.String())
	c.Env, c.SysProcAttr = append(os.Environ(), env...), process.Orphanless()
	out, err := c.CombinedOutput()
	if err != nil {
		s.Fatalf("%s: %v\n%s", names, err, out)
	}
	got := sample{}
	for line := range strings.Lines(string(out)) { // a name, a count of iterations, pairs of a value and its unit
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(fields[0], "-") // the number of processors
		for pair := range slices.Chunk(fields[2:], 2) {
			got[name+" "+pair[1]] = must.Get(strconv.ParseFloat(pair[0], 64))(s)
		}
	}
	return got
}

// own measures one of this program's benchmarks, against a server.
func (s *section) own(of server, name string) contestant {
	return contestant{of.name, func() sample {
		got := s.benchmarks(must.Get(os.Executable())(s), "^"+name+"$", length(1500*time.Millisecond), servedAt+"="+of.socket, servedBy+"="+strconv.Itoa(of.PID()))
		return sample{"rate": 1e9 / got[name+" ns/op"], "cpu": got[name+" server-ns/op"] * 1e-9}
	}}
}

// web compares GET /v1/ids with a handler of the same library that answers a constant of the same
// size.
func web(s *section) {
	got := s.inTurn(times(fullRounds, 2), s.own(s.daemon(), "BenchmarkGET"), s.own(s.constant(), "BenchmarkGET"))
	what := fmt.Sprintf("GET /v1/ids, %d connections that stay open", connections)
	s.add(aside("HTTP", what, "an ID a request", got[0], "net/http, a constant", got[1])...)
}

// aside are the rate of the daemon and its processor time next to those of a constant.
func aside(group, what, note string, ours []sample, peer string, theirs []sample) []report.Figure {
	rate := versus(group, what, report.Rate, ours, peer, theirs, "rate").RatioAtLeast(0.85)
	rate.Note = note
	return []report.Figure{rate, versus(group, what+", the server's processor time for one", report.Seconds, ours, peer, theirs, "cpu")}
}

// manyIDs is a layout that has 16 times as many IDs in a tick as the default one, so that what is
// compared is the server and not the layout's ceiling.
const manyIDs = "time=41@1ms,worker=6,sequence=16;epoch=2026-01-01"

// grpc compares calls of the daemon with those of a handler of the same library that answers
// messages of the same shape, and shows how many IDs one client gets. As many callers as PD's
// benchmark has are in one message, and as with PD's client the next message is sent once the last
// one is answered; the last rows show more under way.
func grpc(s *section) {
	const group, peer = "gRPC", "connect, a constant"
	wide, usual, constant := s.daemon("--layout", manyIDs), s.daemon(), s.constant()
	got := s.inTurn(times(fullRounds, 2), s.own(usual, "BenchmarkNext"), s.own(constant, "BenchmarkNext"))
	s.add(aside(group, fmt.Sprintf("Next, %d connections, each with one caller", connections), "an ID a call", got[0], peer, got[1])...)
	for _, window := range []int{1, 8} {
		name := fmt.Sprintf("BenchmarkStream%d", window)
		got := s.inTurn(times(fullRounds, 2), s.own(wide, name), s.own(usual, name), s.own(constant, name))
		what := fmt.Sprintf("Stream of one client, messages for %d, %d under way", message, window)
		s.add(aside(group, what, "messages; 16 bits of sequence", got[0], peer, got[2])...)
		ids := report.Figure{Group: group, What: what + ", IDs", Unit: report.Rate, Note: "of " + report.Format(report.Rate, ceiling) + " that the layout has"}
		for _, rate := range column(got[1], "rate") {
			ids.Ours = append(ids.Ours, rate*message)
		}
		s.add(ids.AtLeast(1e6))
	}
}

// message is how many IDs a message of a stream asks for.
const message = 1000

// shared has callers make b.N requests to the server altogether. Each asks as long as next says so.
func shared(b *testing.B, callers int, ask func(socket string, next func() bool) error) {
	socket := os.Getenv(servedAt)
	if socket == "" {
		b.Skip("TestBench starts the server")
	}
	pid := must.Get(strconv.Atoi(os.Getenv(servedBy)))(b)
	before := must.Get(usage.CPUOf(pid))(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if err := ask(socket, func() bool { return left.Add(-1) >= 0 }); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(must.Get(usage.CPUOf(pid))(b)-before)/float64(b.N), "server-ns/op")
}

// BenchmarkGET is an ID over HTTP.
func BenchmarkGET(b *testing.B) {
	request := []byte("GET /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n")
	shared(b, connections, func(socket string, next func() bool) error {
		c, err := net.Dial("unix", socket)
		if err != nil {
			return err
		}
		defer c.Close()
		for in := bufio.NewReader(c); next(); {
			if _, err := c.Write(request); err != nil {
				return err
			}
			reply, err := in.ReadSlice('}')
			if err != nil || !bytes.HasPrefix(reply, []byte("HTTP/1.1 200 OK\r\n")) {
				return fmt.Errorf("%w: %q", err, reply)
			}
			if _, err := in.Discard(1); err != nil { // a line's end
				return err
			}
		}
		return nil
	})
}

// BenchmarkNext is an ID of a call of gRPC.
func BenchmarkNext(b *testing.B) {
	called(b, connections, func(client flakewardv1connect.IdServiceClient, next func() bool) error {
		for next() {
			r, err := client.Next(b.Context(), connect.NewRequest(&flakewardv1.NextRequest{}))
			if err != nil || len(r.Msg.Ids) != 1 {
				return fmt.Errorf("%w: no ID", err)
			}
		}
		return nil
	})
}

// BenchmarkStream1 is a message of gRPC, sent once the last one is answered, and BenchmarkStream8
// one of eight that are under way at a time.
func BenchmarkStream1(b *testing.B) { benchmarkStream(b, 1) }
func BenchmarkStream8(b *testing.B) { benchmarkStream(b, 8) }

func benchmarkStream(b *testing.B, window int) {
	called(b, 1, func(client flakewardv1connect.IdServiceClient, next func() bool) error {
		stream := client.Stream(b.Context())
		ask := &flakewardv1.StreamRequest{Count: message}
		for range window - 1 {
			if err := stream.Send(ask); err != nil {
				return err
			}
		}
		for next() {
			if err := stream.Send(ask); err != nil {
				return err
			}
			r, err := stream.Receive()
			if err != nil {
				return err
			}
			got := uint32(0)
			for _, run := range r.Runs {
				got += run.Count
			}
			if r.Error != nil || got != message {
				return fmt.Errorf("%d of %d IDs: %v", got, message, r.Error)
			}
		}
		return stream.CloseRequest()
	})
}

// called is shared for callers of gRPC, each with a connection.
func called(b *testing.B, callers int, do func(client flakewardv1connect.IdServiceClient, next func() bool) error) {
	shared(b, callers, func(socket string, next func() bool) error {
		transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}
		transport.Protocols.SetUnencryptedHTTP2(true)
		defer transport.CloseIdleConnections()
		return do(flakewardv1connect.NewIdServiceClient(&http.Client{Transport: transport}, "http://f", connect.WithGRPC()), next)
	})
}

// constant answers calls as the daemon does, without IDs being issued.
type constant struct {
	flakewardv1connect.UnimplementedIdServiceHandler
}

// someID is as long as others.
const someID = 117949486318465024

// Next implements flakewardv1connect.IdServiceHandler, and so does Stream.
func (constant) Next(context.Context, *connect.Request[flakewardv1.NextRequest]) (*connect.Response[flakewardv1.NextResponse], error) {
	return connect.NewResponse(&flakewardv1.NextResponse{Ids: []int64{someID}}), nil
}

// Stream answers each message.
func (constant) Stream(_ context.Context, stream *connect.BidiStream[flakewardv1.StreamRequest, flakewardv1.StreamResponse]) error {
	run := &flakewardv1.IdRun{First: someID}
	answer := &flakewardv1.StreamResponse{Step: 1, Runs: []*flakewardv1.IdRun{run}}
	for {
		r, err := stream.Receive()
		if err != nil {
			return err
		}
		run.Count = r.Count
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// serveConstant serves HTTP and gRPC on a socket.
func serveConstant(t must.T, socket string) {
	mux, protocols, body := http.NewServeMux(), new(http.Protocols), fmt.Appendf(nil, "{\"ids\":[\"%d\"]}\n", int64(someID))
	mux.Handle(flakewardv1connect.NewIdServiceHandler(constant{}, connect.WithCompressMinBytes(math.MaxInt))) // as the daemon
	mux.HandleFunc("/v1/ids", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write(body)
	})
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := http.Server{Handler: mux, Protocols: protocols, ReadHeaderTimeout: time.Minute}
	must.Do(t, server.Serve(must.Get(net.Listen("unix", socket))(t)))
}
