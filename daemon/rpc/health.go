package rpc

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon/rest"
)

// health implements grpchealth.Checker: the service serves while an ID can be had.
type health func() rest.Readiness

// Check implements grpchealth.Checker.
func (h health) Check(_ context.Context, r *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	switch {
	case r.Service != "" && r.Service != flakewardv1connect.IdServiceName: // no name stands for all there are
		return nil, connect.NewError(connect.CodeNotFound, errors.New("there is no such service: ask for "+flakewardv1connect.IdServiceName))
	case h().Ready:
		return &grpchealth.CheckResponse{Status: grpchealth.StatusServing}, nil
	}
	return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
}
