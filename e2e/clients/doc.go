// Package clients tests the clients of other languages that keep a stock of IDs: one file each
// below clients/ at the root, to be copied into a program.
//
// Each language has a driver, a program that takes IDs by its client:
//
//	driver SOCKET OUTFILE THREADS SECONDS
//
// The driver opens one client, and so many threads take IDs from it until the time is over. An
// error does not end a thread: the thread counts the error and retries. Thread N writes its IDs to
// OUTFILE.N, 8 bytes each with the highest first, in the order in which it got them. If OUTFILE is
// a hyphen, the IDs are not recorded. The last line on standard output is
//
//	FIGURE <language> threads=N ids_per_s=N p99_ns=N errors=N
//
// where p99_ns is the 99th percentile of single calls that were timed among the others. The exit
// status is 0.
//
// The tests start the daemon as a process of its own, kill and update it under the driver, and
// judge all IDs: none came twice, and those of each thread rise. `go test ./e2e/clients -args
// -long` has 20 kills and 10 updates, and measures the figures, for which the machine has to be
// idle.
package clients
