// Package page has the tests of the daemon's page in a real browser.
//
// The screenshots in docs are made by: go test ./e2e/page -args -shots $PWD/docs -before 5m
package page
