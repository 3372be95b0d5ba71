/*
 * What flakeward.pml is about: parameters, the daemons' memory, their disks, and
 * the coordinator's tree.
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
#ifdef EXPIRIES
byte expiries[2];
#define MAYEXPIRE(w) (node[w] && expiries[node[w] - 1] < EXPIRIES)
#define EXPIRED(w) expiries[node[w] - 1]++
#else
#define MAYEXPIRE(w) (node[w] != 0)
#define EXPIRED(w) skip
#endif

/*
 * An opening's ID is random, so all that ever matters of one is whether it is the
 * record's holder: "is". Whoever remembers an opening has that bit, and the next
 * opening of the worker ID clears it everywhere. For the same reason no record has
 * a version: a write that is under way is forgotten when another one is stored.
 * So openings and writes are without bound, and the states are still finite.
 */
typedef Holding {        /* daemon/grant/keeper.go: holding */
  unsigned w : 2;
  bit op;                /* there is an opening to go on from */
  bit is;                /* the record's holder is that opening */
  bit own;               /* it is of this start; only for HOLDER_IS_START */
  bit was;               /* the backup's holder is it; only for NO_ERA */
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

typedef Claim {          /* opened, not in the journal yet: Keeper.untaken */
  unsigned w : 2;
  bit is;
  bit cont;              /* Continues() */
  unsigned floor : 3     /* Floor() */
}

typedef Record {         /* coord/lending/values.go: record */
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
Claim untaken[2];
#ifdef STALE
Reading seen[2];
#endif
#ifdef LOOKS
byte take[2];            /* a Take of the watched tick between its two looks: */
#endif                   /* 1, 2 in the lane of cur, leav; 3 in one that was closed */

/* The daemons' disks. */
Entry jcur[2], jleav[2];
#ifdef COPIES
Entry copy[2];           /* of an older jcur */
bit put[2];              /* it was put back, and not overwritten yet */
#endif

#ifdef RESTORES
Record backup[2];
bit saved, restored;
#endif

/* Worker ID 0 is watched at one tick, which is any: the worker IDs are alike, so
   what holds for this one holds for each. */
byte watch;
bit issued;

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

inline clearClaim(c) { c.w = NONE; c.is = 0; c.cont = 0; c.floor = 0 }

inline forget() { late.kind = NOCALL; late.d = 0; late.w = 0; late.cont = 0; late.ceil = 0; late.mark = 0 }

inline giveUp(what, worker, continues, ceiling, published) {
  late.kind = what; late.d = d; late.w = worker; late.cont = continues; late.ceil = ceiling; late.mark = published
}

/* The record was written. */
inline written(worker) {
  if
  :: late.kind != NOCALL && late.w == worker && CHECKED(late.kind) -> forget()
  :: else
  fi;
#ifdef STALE
  if :: seen[0].w == worker -> seen[0].fresh = 0 :: else fi;
  if :: seen[1].w == worker -> seen[1].fresh = 0 :: else fi
#endif
}

/* The claim node is gone. */
inline vanish(worker) {
  node[worker] = 0;
#ifndef NO_CLAIM_CHECK
  if :: late.kind != NOCALL && late.w == worker -> forget() :: else fi
#endif
}

/* What is not the record's and has no grant left does nothing any more: it is cleared
   at once, so that there are fewer states. Where a switch brings such a thing back to
   life it stays. */
#if defined(HOLDER_IS_START) || defined(ANY_JOURNAL) || defined(NEW_HOLDER_OLD_MARK) || defined(NO_ERA) || \
    defined(NO_VERSION_OPENING) || defined(OPENING_BY_READ)
#define IDLE(ref) false
#else
#define IDLE(ref) (!ref.is && ref.granted <= ref.mark)
#endif
inline tidyEntry(e) { if :: IDLE(e) -> clearEntry(e) :: else fi }
inline tidyHolding(h) {
  if :: IDLE(h) && !h.claim && !(h.free && watch <= h.granted) -> clearHolding(h) :: else fi
}

/* A new opening is the holder: whoever remembers another one has an old one. With
   HOLDER_IS_START a start's openings are all alike. */
inline displaced(ref, mine, worker) {
  if :: ref.w == worker -> ref.is = (mine && ref.own) :: else fi
}

inline tidy() {
  if :: !untaken[0].cont -> tidyHolding(cur[0]) :: else fi; /* its mark is still to be taken over */
  if :: !untaken[1].cont -> tidyHolding(cur[1]) :: else fi;
  tidyHolding(leav[0]); tidyHolding(leav[1]);
  tidyEntry(jcur[0]); tidyEntry(jcur[1]); tidyEntry(jleav[0]); tidyEntry(jleav[1]);
#ifdef COPIES
  if :: !copy[0].is -> clearEntry(copy[0]) :: else fi; /* refused: as good as none */
  if :: !copy[1].is -> clearEntry(copy[1]) :: else fi
#endif
}

inline opened(who, worker) {
  written(worker);
  displaced(cur[0], who == 0, worker); displaced(cur[1], who == 1, worker);
  displaced(leav[0], who == 0, worker); displaced(leav[1], who == 1, worker);
  displaced(jcur[0], who == 0, worker); displaced(jcur[1], who == 1, worker);
  displaced(jleav[0], who == 0, worker); displaced(jleav[1], who == 1, worker);
  if :: untaken[0].w == worker -> untaken[0].is = 0 :: else fi;
  if :: untaken[1].w == worker -> untaken[1].is = 0 :: else fi;
#ifdef COPIES
  displaced(copy[0], who == 0, worker); displaced(copy[1], who == 1, worker);
#endif
  tidy()
}

#ifdef NO_ERA
#define AFTER(ref) ref.is = ref.was
#else
#define AFTER(ref) ref.is = 0
#endif

/* All marks were raised: what was opened before is continued by nobody. With NO_ERA
   the holders are those of the backup. */
inline newEra() {
  forget();
  AFTER(cur[0]); AFTER(cur[1]); AFTER(leav[0]); AFTER(leav[1]);
  AFTER(jcur[0]); AFTER(jcur[1]); AFTER(jleav[0]); AFTER(jleav[1]);
  untaken[0].is = 0; untaken[1].is = 0;
#ifdef STALE
  seen[0].fresh = 0; seen[1].fresh = 0;
#endif
#ifdef COPIES
  AFTER(copy[0]); AFTER(copy[1]);
#endif
  tidy()
}
