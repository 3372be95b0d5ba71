// Package coord says what flakeward needs of a coordinator: a place that assigns
// worker IDs, remembers how far each one has been issued, and lets only one
// claim at a time write that down. The back-ends are in the packages below it;
// coordtest holds each of them to the contract that is written here.
//
// The vocabulary: a claim is an ephemeral node that names a worker ID and lives as long as its
// session. A record is the durable entry of a worker ID and outlives claims. An opening is the
// write by which a claim takes a record over; its random ID is the record's holder from then on.
// All marks are in ticks of the cluster's layout.
package coord

import (
	"context"
	"strings"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// Coordinator is one daemon's connection to the coordinator. All methods are
// safe for concurrent use, and each of them returns soon after its context ends,
// also while the coordinator cannot be reached.
//
// After Join, every call but Close, and every call on a claim, acts in the cluster
// that was joined or not at all. If the tree was wiped or made anew since, it answers
// ErrOtherCluster, also while there is no cluster record, and writes nothing there.
// That is final: every later call answers so too, except that a claim which was lost
// before goes on to answer ErrLost. Where a back-end can tell that its servers went back
// to an earlier state, its calls answer *RestoredError from then on, except for Look.
type Coordinator interface {
	// Join compares the layout with the cluster's, as Layout.Fits does. Where no cluster is, it
	// makes none and answers ErrNoCluster; a directory of one host makes its own. Join is called
	// before any other method; those answer ErrNotJoined until it has succeeded.
	Join(ctx context.Context, layout Layout) (Cluster, error)

	// Look reads the cluster record again, and nothing else. It answers also where no
	// other call does any more: after a *RestoredError, and after ErrTurnedAway, over
	// a connection of its own if need be. So a raise that follows a restore is seen by
	// those that may not be granted anything from then on.
	Look(ctx context.Context) (Cluster, error)

	// Known is what the last answers told of the cluster that was joined. It asks nobody.
	Known() Cluster

	// Claim obtains a worker ID of the cluster's range (NewCluster.Range, Operator.Widen), and
	// opens its record. It retries while other claimants win the race, until ctx ends. When every
	// worker ID is held it returns an *ExhaustedError, and when Request.Fresh is set and the floor
	// of each that is free is above Request.Latest, an *AheadError; neither leaves a claim of its
	// own behind, and where Request.Fresh or Look is set neither has made one. After any other
	// error a claim node may stay: it bars nobody but its own worker ID, and is deleted by a later
	// Extend or with the session.
	Claim(ctx context.Context, request Request) (Claim, error)

	// Members returns the live claims that own a worker ID, with their records,
	// in the order of their worker IDs. The records are read after the claims.
	Members(ctx context.Context) ([]Member, error)

	// Close ends the session, which frees every claim of this coordinator
	// without lowering a record, and waits for all that it started.
	Close() error
}

// Claim is a worker ID held. Its methods are safe for concurrent use; Extend
// and Release take turns.
type Claim interface {
	// Worker returns the worker ID, from 0 to Layout.Workers-1.
	Worker() int

	// Name returns the name of the claim node. It is unique over all starts of all daemons. It is
	// another one once an Extend has made the node again, and empty while the node is known not to
	// be there.
	Name() string

	// Opening returns the random ID of the opening that made this claim the
	// record's holder. ClusterEpochOf tells when it was made.
	Opening() string

	// Floor returns the tick above which nothing was granted before: the claim issues only above
	// it. It is the record's ceiling as the opening found it, or what all ceilings were raised to
	// if that is more; 0 for a worker ID that was never granted.
	Floor() generator.Tick

	// Extend raises what is granted to progress.Ceiling; a ceiling that is lower leaves the
	// record's as it is. A nil error means that the record is durably at or above progress.Ceiling
	// and was still this claim's when it was stored. Whether the claim node was there does not
	// matter to that. Where it was gone, because its session has ended or somebody has deleted it,
	// Extend makes it again, or the next one does; if another claims the worker ID by then, the
	// claim is lost. ErrLost is final: every later call returns it too. So is ErrOtherCluster. A
	// claim that was opened before an operator raised all marks is lost, by ErrRaised, and so says
	// Release. After any other error the outcome is unknown: the old ceiling holds, and the call is
	// to be made again.
	Extend(ctx context.Context, progress Progress) error

	// Release stores as the record's ceiling the largest of last (where the closed lane has issued
	// up to), the issued tick that was published, and Floor. It frees the worker ID in the same
	// step if the claim node is there. The zero value leaves the ceiling as it is. ErrLost means
	// that the claim is lost, and that nothing was lowered but by a try whose reply was lost,
	// before another opened the record or made the tree anew; and so does ErrOtherCluster. After
	// any other error the outcome is unknown, and the call may be made again. After a nil error
	// every call returns ErrLost.
	Release(ctx context.Context, last generator.Last) error
}

// Layout is what all daemons of a cluster must agree on.
type Layout struct {
	// Text is the canonical layout with its epoch, and the datacenter. It is
	// compared byte for byte.
	Text string
	// Workers is the number of worker IDs, from 1 to MaxWorkers.
	Workers int
	// Window is the window of a cluster which Join makes; see Cluster.Window.
	Window generator.Tick
	// Now is the tick of the clock, at which a directory's cluster begins.
	Now generator.Tick
}

// MaxWorkers is the largest number of worker IDs that a coordinator assigns: 22
// bits, the widest worker field of any preset.
const MaxWorkers = 1 << 22

// Cluster is what a joined daemon knows of its cluster.
type Cluster struct {
	// UUID was drawn when the cluster record was made. A coordinator that was
	// wiped has another one.
	UUID string
	// Raise is what all marks were raised to last.
	Raise Raise
	// Window is how far beyond its clock a daemon asks for ceilings at most, in ticks; 0 if the
	// cluster record does not say.
	Window generator.Tick
	// Trusted is the time that a person has confirmed last (Operator.TrustClock); 0: nobody ever
	// has.
	Trusted generator.Tick
}

// Raise says what an operator raised all marks to. The zero value is for a cluster in
// which that was never done.
//
// Whoever learns of a Raise issues nothing above its floor from a grant of another cluster epoch:
// the next holder of that worker ID begins there.
type Raise struct {
	// Floor is the tick that no record's ceiling counts for less than.
	Floor generator.Tick
	// ClusterEpoch is another one after each raise. What was opened in another cluster epoch is
	// void.
	ClusterEpoch string
}

// clusterEpochMark stands between an opening's token, which has no such character, and its cluster
// epoch.
const clusterEpochMark = "-"

// OpeningID returns the ID of an opening: a random token of letters and digits, and the
// cluster epoch in which it is made.
func OpeningID(token, clusterEpoch string) string {
	if clusterEpoch == "" {
		return token
	}
	return token + clusterEpochMark + clusterEpoch
}

// ClusterEpochOf returns the cluster epoch in which an opening was made, by its ID; empty if marks
// had never been raised then.
func ClusterEpochOf(opening string) string {
	_, clusterEpoch, _ := strings.Cut(opening, clusterEpochMark)
	return clusterEpoch
}

// Identity names the daemon that claims. It is given to a back-end when that is
// opened, and shown to operators; only Incarnation is ever relied on.
type Identity struct {
	// Host is the host's name, the key of the sticky preference. It may be
	// empty: then there is no preference.
	Host string
	// PID is the daemon's process ID, as it sees it itself.
	PID int
	// Incarnation is random and made anew at every start of a daemon: 1 to 64
	// characters of a-z, A-Z and 0-9.
	Incarnation string
	// Dead is the incarnation of a process that is known to be dead. Its claims, which bar their
	// worker IDs until its session ends, are deleted where they are met. Empty: none is known.
	Dead string
	// Version is the daemon's version.
	Version string
	// Boot names the boot of the daemon's machine: members with the same one go by one clock.
	// Empty if it is not known.
	Boot string
}

// Request says which worker ID is wanted. The zero value wants worker ID 0; see AnyWorker.
type Request struct {
	// Worker is the worker ID that is wanted: the one that the lost claim had. AnyWorker asks for
	// the one that this host had last. It is a preference; another worker ID may be the answer.
	Worker int
	// Fresh asks for a worker ID that is not the sticky one: a re-lease.
	// Worker and the host's preference are then ignored. It looks first, as with Look.
	Fresh bool
	// Look has the claim look what is free before it makes a node: a call that finds nothing writes
	// nothing. It is for a caller whose last Claim found nothing; a start's first call is quicker
	// without.
	Look bool
	// Latest is the highest floor that the caller is willing to wait for. A free
	// worker ID at or below it is preferred to one above, and the lowest of those
	// is taken if there is no other; with Fresh, none of them is.
	Latest generator.Tick
	// Before, if not nil, is called before each claim node is made, with AnyWorker, and before each
	// opening of a record is sent, with its worker ID. An error of it ends the call, and nothing
	// more is sent: the node of an opening that is not sent stays. The claim keeps Before, and
	// calls it with AnyWorker before an Extend makes its node again.
	Before func(worker int) error
}

// AnyWorker is the Request.Worker of a caller that wants none in particular.
const AnyWorker = -1

// Progress is what an Extend publishes.
type Progress struct {
	// Ceiling is the ceiling that is wanted.
	Ceiling generator.Tick
	// Issued is the last tick that was issued, 0 if none was.
	Issued generator.Tick
	// Time is the tick of the caller's known time: by it the other members judge their own clocks.
	// One before the layout's first tick counts as 0.
	Time generator.Tick
}

// Member is a live claim with its record.
type Member struct {
	Worker int
	// Host, PID, Incarnation, Version and Boot are the claimant's Identity.
	Host        string
	PID         int
	Incarnation string
	Version     string
	Boot        string
	// Claim is the name of the claim node.
	Claim string
	// Since is when the claim was made, by the claimant's clock; zero if unknown.
	Since time.Time
	// Ceiling and Issued are the record's, as last published: Ceiling is how far
	// the member is granted.
	Ceiling generator.Tick
	Issued  generator.Tick
	// Time is the time that the member knew when it was granted last; 0: it has not been since it
	// opened.
	Time generator.Tick
	// Opening is the record's holder; empty if the claim has not opened it yet.
	Opening string
}
