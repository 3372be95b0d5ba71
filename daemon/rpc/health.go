package rpc

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/rest"
)

// health implements grpchealth.Checker: the service serves while an ID can be had.
type health func() rest.Readiness

// Check implements grpchealth.Checker.
func (h health) Check(_ context.Context, r *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	switch {
	case !known(r.Service):
		return nil, connect.NewError(connect.CodeNotFound, errors.New("there is no such service: ask for "+flakewardv1connect.IdServiceName))
	case h().Ready:
		return &grpchealth.CheckResponse{Status: grpchealth.StatusServing}, nil
	}
	return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
}

// known reports whether there is health of a service; of no name: of all there are.
func known(service string) bool {
	return service == "" || service == flakewardv1connect.IdServiceName
}

const (
	watchProcedure = "/" + grpchealth.HealthV1ServiceName + "/Watch"
	// watchEvery is how long a change may take until a watch tells it.
	watchEvery = time.Second
)

// newWatch answers Watch, which grpchealth does not: a client that watches takes a daemon for healthy
// that does not know it.
func newWatch(c rest.Config, options ...connect.HandlerOption) http.Handler {
	clock := c.Clock
	if clock == nil {
		clock = clockguard.System{}
	}
	return connect.NewServerStreamHandler(watchProcedure, func(ctx context.Context, r *connect.Request[grpc_health_v1.HealthCheckRequest], to *connect.ServerStream[grpc_health_v1.HealthCheckResponse]) error {
		var last grpc_health_v1.HealthCheckResponse_ServingStatus // unknown: nothing was sent
		for {
			now := grpc_health_v1.HealthCheckResponse_NOT_SERVING
			switch {
			case !known(r.Msg.Service):
				now = grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
			case c.Health.Ready().Ready:
				now = grpc_health_v1.HealthCheckResponse_SERVING
			}
			if now != last {
				if err := to.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
					return err
				}
				last = now
			}
			if err := clock.Sleep(ctx, watchEvery); err != nil {
				return err
			}
		}
	}, options...)
}
