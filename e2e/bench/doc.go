// Package bench measures the daemon next to its peers.
//
//	make bench                    # everything, some twenty minutes
//	make bench ONLY='socket|idle' # two sections; the rest of the page stays
//	make bench ONLY=none          # the page again, without measuring
//	go test ./e2e/bench           # whether everything runs; writes no page
//
// The page is docs/benchmarks.md, all samples are in docs/benchmarks.json. Everything runs on this
// machine, on Unix sockets and loopback, and is ended with the test. Whatever else the machine does
// is in the figures too, so the page says what the machine is and how busy it was. Missed targets
// are reported, and fail nothing. It needs Linux.
package bench
