// Package flakewardv1 is the messages of the gRPC and Connect interface, made from flakeward.proto
// by `make generate`. docs/grpc.md describes them.
package flakewardv1
