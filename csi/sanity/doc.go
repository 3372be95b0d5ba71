// Package sanity runs the CSI project's own tests on the driver. It is a module of its own, so that
// the program's go.mod names nothing of what they need.
package sanity
