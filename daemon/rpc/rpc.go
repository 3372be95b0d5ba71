// Package rpc answers gRPC, gRPC-Web and Connect: the service of api/flakeward/v1, health and
// reflection. docs/grpc.md describes it.
//
// It is an http.Handler for the server of package rest, whose connections and errors it shares.
package rpc

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

const (
	// mostBytes is the longest message that is read.
	mostBytes = 16 << 10
	// What an ID takes while the reply is made and sent: as a number and as text.
	idBytes   = 32
	textBytes = 96
)

// New makes the handler of rest.RPCPaths. Replies are never compressed: that takes longer than
// sending them as they are, and a compressor has 800 kB. Clients may compress their requests.
func New(c rest.Config) http.Handler {
	mux := http.NewServeMux()
	options := connect.WithHandlerOptions(
		connect.WithReadMaxBytes(mostBytes), connect.WithCompressMinBytes(math.MaxInt),
		connect.WithCodec(strictJSON("json")), connect.WithCodec(strictJSON("json; charset=utf-8")), connect.WithInterceptors(counting{c}),
	)
	_, ids := flakewardv1connect.NewIdServiceHandler(&service{c}, options)
	for _, method := range []string{flakewardv1connect.IdServiceNextProcedure, flakewardv1connect.IdServiceRunProcedure, flakewardv1connect.IdServiceDecodeProcedure} {
		mux.Handle(method, ids)
	}
	mux.Handle(flakewardv1connect.IdServiceStreamProcedure, lasting(ids))
	path, all := grpchealth.NewHandler(health(c.Health.Ready), options)
	mux.Handle(path, all)
	names := grpcreflect.NewStaticReflector(flakewardv1connect.IdServiceName, grpchealth.HealthV1ServiceName)
	path, all = grpcreflect.NewHandlerV1(names, options)
	mux.Handle(path, lasting(all))
	path, all = grpcreflect.NewHandlerV1Alpha(names, options)
	mux.Handle(path, lasting(all))
	return retried(mux)
}

// lasting lets a stream last as long as its client wants. What the client does not take waits for
// it in HTTP/2's own window. Other calls have the time that the server gives each reply.
func lasting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		h.ServeHTTP(w, r)
	})
}

// service implements the service of the definition.
type service struct{ rest.Config }

// Next implements flakewardv1connect.IdServiceHandler, as the others do.
func (s *service) Next(ctx context.Context, r *connect.Request[flakewardv1.NextRequest]) (*connect.Response[flakewardv1.NextResponse], error) {
	asks := s.Asks(ctx)
	as, problem := asks.Form(nameOf(r.Msg.As))
	if problem != nil {
		return nil, failed(problem)
	}
	size := textBytes
	if r.Msg.As == flakewardv1.Form_FORM_UNSPECIFIED { // numbers, whatever the daemon's form is
		as, size = form.Integer, idBytes
	}
	runs, err := take(ctx, asks, r.Msg.Count, r.Msg.Tenant, as)
	if err != nil {
		return nil, err
	}
	asks.Replies(size * int(r.Msg.Count))
	var all flakewardv1.NextResponse
	step := s.Layout.Step()
	for _, run := range runs {
		for k := range run.N {
			id := run.First + int64(k)*step
			if r.Msg.As == flakewardv1.Form_FORM_UNSPECIFIED {
				all.Ids = append(all.Ids, id)
			} else {
				all.Texts = append(all.Texts, asks.Text(as, id))
			}
		}
	}
	return connect.NewResponse(&all), nil
}

// nameOf is the name of a form in the other dialects; empty: there is none.
func nameOf(f flakewardv1.Form) string {
	if f == flakewardv1.Form_FORM_UNSPECIFIED {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(f.String(), "FORM_"))
}

// Run answers with runs.
func (s *service) Run(ctx context.Context, r *connect.Request[flakewardv1.RunRequest]) (*connect.Response[flakewardv1.RunResponse], error) {
	runs, err := take(ctx, s.Asks(ctx), r.Msg.Count, r.Msg.Tenant, form.Integer)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&flakewardv1.RunResponse{Step: s.Layout.Step(), Runs: show(runs)}), nil
}

// Decode takes an ID apart.
func (s *service) Decode(ctx context.Context, r *connect.Request[flakewardv1.DecodeRequest]) (*connect.Response[flakewardv1.DecodeResponse], error) {
	id, parts, problem := s.Asks(ctx).Decode(r.Msg.Id, nameOf(r.Msg.As))
	if problem != nil {
		return nil, failed(problem)
	}
	d := &flakewardv1.DecodeResponse{
		Id: id, Time: timestamppb.New(s.Layout.StartOf(parts.Tick)), Tick: int64(parts.Tick), Worker: parts.Worker, Sequence: parts.Sequence,
	}
	if s.Layout.Bits(generator.Datacenter) > 0 {
		d.Datacenter = &parts.Datacenter
	}
	if s.Layout.Bits(generator.Tenant) > 0 {
		d.Tenant = &parts.Tenant
	}
	return connect.NewResponse(d), nil
}

// Stream answers message after message. Its caller's IDs rise.
func (s *service) Stream(ctx context.Context, stream *connect.BidiStream[flakewardv1.StreamRequest, flakewardv1.StreamResponse]) error {
	asks := s.Asks(ctx)
	answer := &flakewardv1.StreamResponse{Step: s.Layout.Step()}
	method := rest.MethodOf(flakewardv1connect.IdServiceStreamProcedure)
	for {
		r, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer.Runs, answer.Error = answer.Runs[:0], nil
		code := rest.OK
		switch runs, problem := asks.Take(ctx, r.Tenant, max(1, r.Count), form.Integer); {
		case ctx.Err() != nil:
			return ctx.Err()
		case problem != nil:
			code = problem.Code
			answer.Error = &flakewardv1.StreamError{Code: problem.Code, Message: problem.Detail, RetryAfterMs: problem.RetryAfter().Milliseconds()}
		default:
			answer.Runs = show(runs)
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
		s.CountCall(ctx, method, code)
	}
}

func show(runs []generator.Run) []*flakewardv1.IdRun {
	all := make([]*flakewardv1.IdRun, len(runs))
	for i, run := range runs {
		all[i] = &flakewardv1.IdRun{First: run.First, Count: uint32(run.N)}
	}
	return all
}

// take takes IDs, or returns the error that the caller gets.
func take(ctx context.Context, asks *rest.Asker, count uint32, tenant string, as form.Form) ([]generator.Run, error) {
	runs, problem := asks.Take(ctx, tenant, max(1, count), as)
	switch {
	case problem == nil:
		return runs, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, failed(problem)
}

// failed is the error of a problem, with its code and when to try again.
func failed(p *rest.Problem) error {
	code := connect.CodeUnavailable
	switch {
	case p.Largest != nil:
		code = connect.CodeResourceExhausted
	case p.Status == http.StatusBadRequest:
		code = connect.CodeInvalidArgument
	case p.Status == http.StatusTooManyRequests:
		code = connect.CodeResourceExhausted
	}
	err := connect.NewError(code, errors.New(p.Detail))
	details := []proto.Message{&errdetails.ErrorInfo{Reason: p.Code, Domain: "flakeward"}}
	if after := p.RetryAfter(); after > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	}
	for _, d := range details {
		if detail, e := connect.NewErrorDetail(d); e == nil {
			err.AddDetail(detail)
		}
	}
	return err
}

// counting counts calls by their method and how they ended, and those of Stream by their messages.
type counting struct{ rest.Config }

func (c counting) note(ctx context.Context, spec connect.Spec, err error) {
	code := rest.OK
	if err != nil {
		code = codeOf(err)
	}
	c.CountCall(ctx, rest.MethodOf(spec.Procedure), code)
}

// WrapUnary implements connect.Interceptor, as the others do.
func (c counting) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		reply, err := next(ctx, r)
		c.note(ctx, r.Spec(), err)
		return reply, err
	}
}

// WrapStreamingHandler counts a stream once, and one whose messages are counted only if it fails.
func (c counting) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, stream connect.StreamingHandlerConn) error {
		err := next(ctx, stream)
		if err == nil && stream.Spec().Procedure == flakewardv1connect.IdServiceStreamProcedure {
			c.SeenCall(ctx)
		} else {
			c.note(ctx, stream.Spec(), err)
		}
		return err
	}
}

// WrapStreamingClient is of clients, which there are none of.
func (counting) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// codeOf is the code of the one table, or gRPC's where the error is not of it. A caller has gone
// that has cancelled, whose deadline has passed, or whose stream broke off, which is CodeUnknown.
func codeOf(err error) string {
	var e *connect.Error
	if errors.As(err, &e) {
		for _, d := range e.Details() {
			if m, err := d.Value(); err == nil {
				if info, ok := m.(*errdetails.ErrorInfo); ok {
					return info.Reason
				}
			}
		}
	}
	switch code := connect.CodeOf(err); code {
	case connect.CodeCanceled, connect.CodeDeadlineExceeded, connect.CodeUnknown:
		return rest.Gone
	default:
		return code.String()
	}
}
