// Package page has the tests of the daemon's page in a real browser. It is a module of its own, so that
// the program's go.mod names only what it needs; go.work joins both.
//
// The screenshots in docs are made by: go test ./e2e/page -args -shots $PWD/docs -before 5m
package page
