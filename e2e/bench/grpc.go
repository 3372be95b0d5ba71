package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/e2e/bench/report"
)

// The processes that the section has besides the daemon.
const (
	selfEcho = "echo"
	selfCall = "call"
)

// calls is what a client of gRPC does: Next from many callers, or messages of one Stream.
type calls struct {
	count  int // IDs that a message of Stream asks for; 0: the calls are of Next, for an ID each
	window int // messages that are under way at a time
}

func (c calls) String() string {
	if c.count == 0 {
		return fmt.Sprintf("Next, %d connections, each with one caller", webConnections)
	}
	return fmt.Sprintf("Stream of one client, messages for %d, %d under way", c.count, c.window)
}

// grpcCalls are what is measured. As many callers as PD's benchmark has are in one message, and as
// with PD's client the next message is sent once the last one is answered; the last row shows more
// under way.
var grpcCalls = []calls{{}, {1000, 1}, {1000, 8}}

// manyIDs is a layout that has 16 times as many IDs in a tick as the default one, so that what is
// compared is the server and not the layout's ceiling.
const manyIDs = "time=41@1ms,worker=6,sequence=16;epoch=2026-01-01"

// measureGRPC compares calls of the daemon with those of a handler of the same library that answers
// messages of the same shape without an ID being issued, and shows how many IDs one client gets.
func measureGRPC(ctx context.Context, s setting) (found report.Findings, err error) {
	wide := oursWith("--layout", manyIDs)
	wide.name = "wide"
	var all []contestant
	for _, p := range []peer{wide, ours} {
		c, err := enter(ctx, s, p)
		if err != nil {
			return found, err
		}
		defer c.server.Kill()
		all = append(all, c)
	}
	c, err := enterSelf(ctx, s, selfEcho)
	if err != nil {
		return found, err
	}
	defer c.server.Kill()
	all = append(all, c)
	for _, of := range grpcCalls {
		var entered []inTurn[sample]
		for _, c := range all {
			entered = append(entered, c.asked(selfCall, s.length(1500*time.Millisecond), of))
		}
		got, err := interleave(ctx, s.rounds(fullRounds, 2), entered...)
		if err != nil {
			return found, fmt.Errorf("%v: %w", of, err)
		}
		found.Figures = append(found.Figures, of.figures(got[0], got[1], got[2])...)
	}
	return found, nil
}

// figures are those of the daemon with many IDs next to the echo, and those of the daemon with the
// default layout.
func (c calls) figures(wide, usual, echo []sample) []report.Figure {
	const group, peer = "gRPC", "connect, a constant"
	if c.count == 0 {
		wide = usual // the layout is no limit
	}
	rate := versus(group, c.String(), report.Rate, wide, peer, echo, rateOf)
	cost := versus(group, c.String()+", the server's processor time for one", report.Seconds, wide, peer, echo, cpuOf)
	if c.count == 0 {
		rate.Note = "an ID a call"
		return []report.Figure{rate.RatioAtLeast(0.85), cost}
	}
	rate.Note = "messages; 16 bits of sequence"
	ids := report.Figure{
		Group: group, What: c.String() + ", IDs", Unit: report.Rate,
		Ours: column(usual, func(s sample) float64 { return s.rate * float64(c.count) }),
		Note: fmt.Sprintf("of %s that the layout has", report.Format(report.Rate, ceiling)),
	}
	if c.count == 1000 {
		ids = ids.AtLeast(1e6)
	}
	return []report.Figure{rate.RatioAtLeast(0.85), cost, ids}
}

// echo answers as the daemon does, without IDs being issued.
type echo struct {
	flakewardv1connect.UnimplementedIdServiceHandler
}

// someID is as long as others.
const someID = 117949486318465024

// Next implements flakewardv1connect.IdServiceHandler, and so does Stream.
func (echo) Next(context.Context, *connect.Request[flakewardv1.NextRequest]) (*connect.Response[flakewardv1.NextResponse], error) {
	return connect.NewResponse(&flakewardv1.NextResponse{Ids: []int64{someID}}), nil
}

// Stream answers each message.
func (echo) Stream(_ context.Context, stream *connect.BidiStream[flakewardv1.StreamRequest, flakewardv1.StreamResponse]) error {
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

// serveEcho is the peer, on a socket.
func serveEcho(ctx context.Context, socket string, report *json.Encoder) error {
	mux := http.NewServeMux()
	mux.Handle(flakewardv1connect.NewIdServiceHandler(echo{}, connect.WithCompressMinBytes(math.MaxInt))) // as the daemon
	return serveOn(ctx, socket, report, &http.Server{Handler: mux, Protocols: clearHTTP2()})
}

func clearHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// call is the client.
func call(ctx context.Context, what asking, report *json.Encoder) error {
	c := calls{what.Count, what.Window}
	callers, do := webConnections, callNext
	if c.count > 0 {
		callers, do = 1, c.stream
	}
	return askFor(ctx, what.Length, callers, report, func(ctx context.Context, replies *atomic.Int64) error {
		transport := &http.Transport{Protocols: clearHTTP2(), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", what.Socket)
		}}
		defer transport.CloseIdleConnections()
		return do(ctx, flakewardv1connect.NewIdServiceClient(&http.Client{Transport: transport}, "http://f", connect.WithGRPC()), replies)
	})
}

// callNext asks for one ID after the other.
func callNext(ctx context.Context, client flakewardv1connect.IdServiceClient, replies *atomic.Int64) error {
	for {
		r, err := client.Next(ctx, connect.NewRequest(&flakewardv1.NextRequest{}))
		if err != nil {
			return err
		}
		if len(r.Msg.Ids) != 1 {
			return fmt.Errorf("%d IDs", len(r.Msg.Ids))
		}
		replies.Add(1)
	}
}

// stream sends one message after the other.
func (c calls) stream(ctx context.Context, client flakewardv1connect.IdServiceClient, replies *atomic.Int64) error {
	stream := client.Stream(ctx)
	ask := &flakewardv1.StreamRequest{Count: uint32(c.count)}
	for range c.window - 1 {
		if err := stream.Send(ask); err != nil {
			return err
		}
	}
	for {
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
		if r.Error != nil || got != ask.Count {
			return fmt.Errorf("%d of %d IDs: %v", got, ask.Count, r.Error)
		}
		replies.Add(1)
	}
}
