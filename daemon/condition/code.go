// Package condition names what keeps IDs from being issued, or soon will. The log, INFO and
// UNAVAILABLE replies have the same codes.
package condition

import "slices"

// Code is the name of a condition or of an event. Codes are stable: people's alerts go by them.
type Code string

// The codes. Table says what each means.
const (
	Starting        Code = "starting"
	CoordinatorGone Code = "coordinator-gone"
	LoginRefused    Code = "login-refused"
	AccessDenied    Code = "access-denied"
	Restored        Code = "coordinator-restored"
	OtherCluster    Code = "cluster-replaced"
	NoCluster       Code = "no-cluster"
	ClusterExported Code = "cluster-exported"
	ClaimLost       Code = "claim-lost"
	MarksRaised     Code = "marks-raised"
	WorkersTaken    Code = "worker-ids-taken"
	WorkersAhead    Code = "worker-ids-ahead"
	NoWorker        Code = "no-worker-id"
	HalfOver        Code = "half-over"
	GrantEnded      Code = "grant-ended"
	Issuing         Code = "issuing"
	Recovered       Code = "recovered"
	ClockHeld       Code = "clock-held"
	ClockFollowed   Code = "clock-followed"
	ClockBack       Code = "clock-back"
	ClockBehind     Code = "clock-behind"
	OutsideLayout   Code = "time-outside-layout"
	FloorAhead      Code = "floor-ahead"
	TickExhausted   Code = "tick-exhausted"
	CountTooLarge   Code = "count-too-large"
	UserRate        Code = "user-rate"
	Order           Code = "order"
)

// Entry is what an operator has to know of a code.
type Entry struct {
	Code     Code
	Happened string
	Do       string
}

// Table has all codes. docs/operations.md shows it.
var Table = []Entry{
	{Starting, "no ID was issued since the start, and the coordinator has not answered yet", "wait, or bring the coordinator back"},
	{CoordinatorGone, "the coordinator does not extend the grant; issuing goes on to the grant's end", "do what the reason says: bring the coordinator back, or correct --coord"},
	{LoginRefused, "the coordinator refuses the daemon's user, password or certificate, or asks for one; issuing goes on to the grant's end", "set right what the reason names: a password in its file, then SIGHUP, or at the coordinator"},
	{AccessDenied, "the coordinator does not let the daemon's user read and write what is the cluster's; issuing goes on to the grant's end", "grant the user what the reason names"},
	{Restored, "the coordinator was restored from a backup; it extends nothing", "run flakeward cluster raise, then start the daemon again"},
	{OtherCluster, "the coordinator holds another cluster than the one that was joined, or none any more; the daemon stops", "correct --coord, or run flakeward cluster create (dir: needs none); then start the daemon again"},
	{NoCluster, "the coordinator holds no cluster; the daemon waits for one", "run flakeward cluster create with the same --coord, once for all daemons, or correct --coord"},
	{ClusterExported, "the cluster was exported from this coordinator, or is being imported, and nothing is extended; issuing goes on to the grant's end", "start the daemon with the --coord that the cluster was imported to, before the grant ends"},
	{ClaimLost, "the claim on the worker ID has ended; another one is being made", "nothing; where it recurs, raise --ttl above the host's pauses"},
	{MarksRaised, "an operator raised all marks, which ended the claim; another one is being made", "nothing"},
	{WorkersTaken, "other daemons hold all worker IDs", "stop a daemon that is not needed, wait for the session of a dead one to end, or use flakeward claims clear"},
	{WorkersAhead, "each free worker ID may have been issued from up to a time that the clock has not reached", "correct the clock, or wait"},
	{NoWorker, "the daemon has no worker ID yet", "wait: the daemon is claiming one"},
	{HalfOver, "half of the time is over that was left until issuing stops", "as for its cause"},
	{GrantEnded, "the grant has ended: no ID is issued", "bring the coordinator back: issuing goes on within two seconds"},
	{Issuing, "IDs are issued again", "nothing"},
	{Recovered, "what was going to stop issuing is over", "nothing"},
	{ClockHeld, "the clock has stepped ahead and is not believed; issuing goes on by the monotonic clock", "correct the clock; if it is right, run flakeward cluster set --trust-clock"},
	{ClockFollowed, "the clock that has stepped ahead is followed", "nothing, if the clock is right"},
	{ClockBack, "the clock is back at what was known before it stepped ahead, or is not behind the last ID any more", "nothing"},
	{ClockBehind, "the clock is behind the last ID", "correct the clock, and have it slewed instead of stepped"},
	{OutsideLayout, "the clock shows a time that the layout has no tick for", "set the clock; if it is right, make a cluster with a later epoch or more time bits"},
	{FloorAhead, "the worker ID may have been issued from up to a time that the clock has not reached", "wait until that time, or correct the clock"},
	{TickExhausted, "more IDs are asked for than the layout has room for", "ask for fewer, or raise --max-block"},
	{CountTooLarge, "more IDs are asked for at once than can be had within --max-block", "ask for as many as the reply says, or when it says; or raise --max-block"},
	{UserRate, "the user asks for more IDs than --rate allows", "ask for fewer, or raise --rate"},
	{Order, "the connection's last ID is of the clock's tick, and another worker ID serves it now", "nothing: the next tick serves"},
}

// Lasts reports whether a lane can be in the condition for a time: others are events, or of one
// request.
func (c Code) Lasts() bool {
	return c.Logged() && !slices.Contains([]Code{HalfOver, Issuing, Recovered, ClockFollowed, ClockBack}, c)
}

// Logged reports whether the log has lines of the code: others are the codes of refused requests
// alone.
func (c Code) Logged() bool {
	return !slices.Contains([]Code{TickExhausted, CountTooLarge, UserRate, Order}, c)
}

// Do returns what to do about a code.
func (c Code) Do() string {
	for _, e := range Table {
		if e.Code == c {
			return e.Do
		}
	}
	return ""
}
