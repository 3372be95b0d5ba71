// Package timeslice asks the kernel for short slices of the processor, so that whoever is served by this
// process waits for less of other processes' work. It costs no share of the processor: a thread with
// short slices runs more often.
package timeslice
