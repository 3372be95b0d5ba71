// Package update has one daemon take over from the other, again and again, under clients that never
// try again, and has either of the two killed or stopped in the midst of it.
package update
