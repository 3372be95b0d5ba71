// Package doors has the test of a daemon's socket by clients that others made.
package doors
