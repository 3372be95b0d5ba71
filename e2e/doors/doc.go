// Package doors has the tests of a daemon's socket by clients that others made. It is a module of its
// own, so that the program's go.mod names only what it needs; go.work joins both.
package doors
