// Package flakewardv1connect has the client and the handler of the gRPC and Connect interface.
package flakewardv1connect
