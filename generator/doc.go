// Package generator makes 64-bit IDs that sort by time: it describes how an ID is put together
// (Layout) and issues numbers from one worker ID in memory (Lane).
//
// A Layout is data: the order and the widths of an ID's fields, how long a
// tick lasts and when the count of ticks began. All arithmetic on time is in
// whole ticks of the layout, so nothing is rounded between two units.
//
// A Lane is one worker ID being issued from. It never reads a clock and never waits: the caller
// says which tick it wants, and the lane says what it gave or why not. Whatever ticks the callers
// ask for, in whatever order and from however many goroutines, a lane never gives the same (tick,
// sequence) twice, and gives nothing outside (floor, ceiling].
package generator
