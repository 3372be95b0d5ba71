/*
 * What there is: the bounds, the daemons' memory, their disks, the coordinator's
 * tree. Nothing here decides anything.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TICKS
#define TICKS 3          /* of worker ID 0, the one that is watched */
#endif
#ifndef OTHER
#define OTHER TICKS      /* of worker ID 1 */
#endif
#define NONE 3           /* no worker ID */
#define LIMIT(w) ((w) == 0 -> TICKS : OTHER)
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* Faults are without bound, unless -DCRASHES=n and so on give each daemon n. */
#ifdef CRASHES
byte crashes[2];
#define MAYCRASH (crashes[d] < CRASHES)
#define CRASHED crashes[d]++
#else
#define MAYCRASH true
#define CRASHED skip
#endif
#ifdef LOSSES            /* writes that get no answer, whatever becomes of them */
byte losses[2];
#define MAYLOSE (losses[d] < LOSSES)
#define LOST losses[d]++
#else
#define MAYLOSE true
#define LOST skip
#endif
#ifdef EXPIRIES          /* claims that end */
byte expiries[2];
#define MAYEXPIRE(w) (node[w] && expiries[node[w] - 1] < EXPIRIES)
#define EXPIRED(w) expiries[node[w] - 1]++
#else
#define MAYEXPIRE(w) (node[w] != 0)
#define EXPIRED(w) skip
#endif

/* Nothing knows a time: each reading of a clock is any tick. With -DROLLBACKS=n a
   daemon has a clock that only rises, except for n times. It shows what is issued; one
   that was set back may give any tick after it (the ring, a borrowed tick). The
   journal's mark is at most a tick ahead of it. */
#ifdef ROLLBACKS
byte clock[2], rollbacks[2];
#define SHOWS(tick) (clock[d] == (tick) || (rollbacks[d] && clock[d] < (tick)))
#define NEAR(tick) ((tick) <= clock[d] + 1)
#else
#define SHOWS(tick) true
#define NEAR(tick) true
#endif

/*
 * An opening's ID is random, so all that ever matters of one is whether it is the
 * record's holder: "is". Whoever remembers an opening has that bit, and the next
 * opening of the worker ID clears it everywhere. For the same reason no record has
 * a version: a write that is under way is forgotten when another one is stored.
 * So openings and writes are without bound, and the states are still finite.
 */
typedef Holding {        /* daemon/grant/holding.go: holding */
  unsigned w : 2;
  bit op;                /* there is an opening to go on from */
  bit is;                /* the record's holder is that opening */
  bit own;               /* it is of this start; only for HOLDER_IS_START */
  bit was;               /* the backup's holder is it; only for NO_CLUSTER_EPOCH */
  bit claim;             /* there is a claim that is not known to be lost */
  unsigned lane : 2;     /* NOLANE, OPEN, CLOSED */
  bit free;              /* the watched tick is above the floor, its slot not used up */
  unsigned last : 3;     /* the lane's floor, or the watched tick once that is issued:
                            Close returns this or any tick from here to the ceiling */
  unsigned mark : 3;     /* the journal's */
  unsigned granted : 3   /* acknowledged by the coordinator */
}
#define NOLANE 0
#define OPEN 1
#define CLOSED 2

typedef Entry {          /* daemon/journal/journal.go: Entry */
  unsigned w : 2;
  bit is;
  bit own;
  bit was;
  unsigned mark : 3;
  unsigned granted : 3
}

typedef Claim {          /* opened, not in the journal yet */
  unsigned w : 2;
  bit is;
  bit cont;              /* Continues() */
  unsigned floor : 3     /* Floor() */
}

typedef Record {         /* coord/claims/values.go: record */
  unsigned ceil : 3;
  unsigned mark : 3      /* the journal's, as last published */
}

typedef Reading {        /* a record that was read, and what was decided on it */
  unsigned w : 2;
  bit fresh;             /* it was not written since */
  bit cont;
  unsigned ceil : 3
}

typedef Call {           /* a write whose sender gave up on it, and that may land */
  unsigned kind : 2;     /* NOCALL, EXTEND, RELEASE, OPENING */
  bit d;
  bit w;
  bit cont;
  unsigned ceil : 3;
  unsigned mark : 3
}
#define NOCALL 0
#define EXTEND 1
#define RELEASE 2
#define OPENING 3

/* The coordinator. */
Record rec[2];
byte node[2];            /* the claim node on a worker ID: 1 + d, or 0 */
Call late;

/* The daemons' memory. */
byte stopping[2];        /* a clean stop: 1 its lane is closed, 2 it is given back */
Holding cur[2], leav[2];
Claim pending[2];
#ifdef STALE
Reading seen[2];
#endif
#ifdef LOOKS
byte take[2];            /* a Take of the watched tick between its two looks: */
#endif                   /* 1, 2 in the lane of cur, leav; 3 in one that was closed */

/* The daemons' disks: the journal's entries. */
Entry jcur[2], jleav[2];
#ifdef PUTBACKS
Entry copy[2];           /* of an older jcur */
bit put[2];              /* it was put back, and not overwritten yet */
#endif

/* Copies that run beside the original: of a journal, of a machine. */
#if defined(COPIES) || defined(CLONES)
#define MOVES
bit away[2];             /* the journal was written at another place than it is at */
#endif
#ifdef COPIES
Entry copied, copiedLeav;
#endif
#ifdef CLONES
/* An image of a machine: its memory, its disk. With NOW it runs the moment it is made. */
Holding imageCur, imageLeav;
Claim imagePending;
Entry imageJcur, imageJleav;
byte imageStopping;
#ifdef LOOKS
byte imageTake;
#endif
bit cloned[2];           /* the process came to run by an image */
#endif
#ifdef WIPES
bit wiped;
bit foreign[2];          /* the journal is of a cluster that was wiped */
byte floors[2];          /* what the journal says of worker ID 0 beside its entries */
bit knew[2];             /* the watched tick is issued, and this journal or its original said so */
byte copiedFloor; bit copiedKnew, copiedForeign;
#define MARKED(e) (e.w == 0 -> e.mark : 0)
#endif

#ifdef RESTORES
Record backup[2];
bit saved, restored;
#endif
#ifdef CAPS
byte cap;                /* the floor that all marks were raised to */
bit aware[2];             /* the daemon has seen the raise */
#endif

/* Worker ID 0 is watched at one tick, which is any: the worker IDs are alike, so
   what holds for this one holds for each. */
byte watch;
bit issued;

#define CUR cur[d]
#define LEAV leav[d]
#define PENDING pending[d]

inline clearHolding(h) {
  h.w = NONE; h.op = 0; h.is = 0; h.own = 0; h.was = 0; h.claim = 0;
  h.lane = NOLANE; h.free = 0; h.last = 0; h.mark = 0; h.granted = 0
}

inline copyHolding(to, h) {
  to.w = h.w; to.op = h.op; to.is = h.is; to.own = h.own; to.was = h.was; to.claim = h.claim;
  to.lane = h.lane; to.free = h.free; to.last = h.last; to.mark = h.mark; to.granted = h.granted
}

inline clearEntry(e) { e.w = NONE; e.is = 0; e.own = 0; e.was = 0; e.mark = 0; e.granted = 0 }

inline copyEntry(to, e) {
  to.w = e.w; to.is = e.is; to.own = e.own; to.was = e.was; to.mark = e.mark; to.granted = e.granted
}

inline copyClaim(to, c) { to.w = c.w; to.is = c.is; to.cont = c.cont; to.floor = c.floor }

inline clearClaim(c) { c.w = NONE; c.is = 0; c.cont = 0; c.floor = 0 }

inline nothing(d) {
  clearHolding(CUR); clearHolding(LEAV); clearClaim(PENDING); clearEntry(jcur[d]); clearEntry(jleav[d]);
#ifdef STALE
  seen[d].w = NONE;
#endif
#ifdef PUTBACKS
  clearEntry(copy[d]);
#endif
#ifdef COPIES
  clearEntry(copied); clearEntry(copiedLeav);
#endif
#ifdef CLONES
  clearHolding(imageCur); clearHolding(imageLeav); clearClaim(imagePending);
  clearEntry(imageJcur); clearEntry(imageJleav);
#endif
  skip
}
