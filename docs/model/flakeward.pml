/*
 * How flakeward lends worker IDs, and why no ID is issued twice, for spin.
 *
 * Two daemons, two worker IDs, a few ticks. The assertion, in issue, is uniqueness:
 * a tick of a worker ID is issued once. A tick has one sequence number here, so two
 * holders that share a tick are caught, and so is one that gives a slot twice.
 *
 * Nothing knows a time. A reading of a clock is any tick, at each reading: clocks
 * stand still, jump and go back as they like. A claim node vanishes at any moment:
 * leases end early, late, and by an operator's hand. Each option of a daemon's loop
 * is one atomic step; invariants are numbered as in docs/guarantees.md. The rules
 * are on unless a switch (-DNAME) breaks one; README.md lists them.
 */

#ifdef NO_VERSION_EXTEND
#define CHECKED(kind) ((kind) != EXTEND)
#else
#ifdef NO_VERSION_OPENING
#define CHECKED(kind) ((kind) != OPENING)
#else
#define CHECKED(kind) true
#endif
#endif

#include "state.pml"

#define CUR cur[d]
#define LEAV leav[d]
#define UNTAKEN untaken[d]

#define RUNS (stopping[d] == 0)
#define HAS(worker) (node[worker] == 1 + d)
#define USES(worker) ((CUR.claim && CUR.w == worker) || (LEAV.claim && LEAV.w == worker) || UNTAKEN.w == worker)

/* Invariant 2: a write is stored only if its claim's node is there and nobody else
   has opened the record (coord/lending/held.go: write). Writes of one's own do not
   count: the nonce tells them. */
#ifdef NO_CLAIM_CHECK
#define STANDS(h) (h.claim && h.is)
#else
#define STANDS(h) (h.claim && h.is && HAS(h.w))
#endif

/* Invariant 6 (coord/lending/claim.go: continues). Whatever was opened in an earlier
   era has no "is" any more. */
#ifdef ANY_JOURNAL
#define HOLDER true
#else
#define HOLDER CUR.is
#endif
#ifdef NO_MARK_TEST
#define RECENT(worker) true
#else
#define RECENT(worker) (rec[worker].mark <= CUR.mark)
#endif
#define CONTINUES(worker) (CUR.op && CUR.w == worker && HOLDER && RECENT(worker))

/* Up to where a lane issues (invariants 3 and 5; daemon/grant/keeper.go: raise). */
#ifdef JOURNAL_AFTER
#define CEILING(h) MIN(h.granted, h.mark + 1)
#else
#define CEILING(h) MIN(h.granted, h.mark)
#endif
#define WATCHED(h) (h.lane == OPEN && h.w == 0 && h.free && watch <= CEILING(h))

inline closed(which) {
#ifdef LOOKS
  if :: take[d] == which -> take[d] = 3 :: else fi
#else
  skip
#endif
}

/* An ID leaves the daemon. Invariant 4: its slot is used now. */
inline issue(h) {
#ifndef SLOT_TWICE
  h.free = 0;
#endif
  h.last = MAX(h.last, watch); if :: !UNTAKEN.cont -> tidyHolding(h) :: else fi;
  assert(!issued); issued = 1
}

inline openLane(at) {
  CUR.lane = OPEN; CUR.last = at; CUR.free = (CUR.w == 0 && at < watch)
}

/* daemon/grant/keeper.go: record, contents. A write that fails is no write. */
inline journal() {
  if
  :: CUR.op -> jcur[d].w = CUR.w; jcur[d].is = CUR.is; jcur[d].own = CUR.own; jcur[d].was = CUR.was;
     jcur[d].mark = CUR.mark; jcur[d].granted = CUR.granted
  :: else -> clearEntry(jcur[d])
  fi;
  if
  :: LEAV.op -> jleav[d].w = LEAV.w; jleav[d].is = LEAV.is; jleav[d].own = LEAV.own; jleav[d].was = LEAV.was;
     jleav[d].mark = LEAV.mark; jleav[d].granted = LEAV.granted
  :: else -> clearEntry(jleav[d])
  fi;
#ifdef COPIES
  put[d] = 0;
#endif
  tidyEntry(jcur[d]);
  if :: jleav[d].granted <= jleav[d].mark -> clearEntry(jleav[d]) :: else fi /* nothing to start from */
}

inline inherit(e) {
  clearHolding(CUR); CUR.w = e.w; CUR.op = (e.w != NONE); CUR.is = e.is; CUR.was = e.was; CUR.mark = e.mark; CUR.granted = e.granted
}

/* The process ends, and the next one reads the journal (daemon/grant/attach.go:
   Inherit). It is down for as long as it does nothing. */
inline restart() {
  stopping[d] = 0;
  jcur[d].own = 0; jleav[d].own = 0;
  inherit(jcur[d]); clearHolding(LEAV); clearClaim(UNTAKEN);
#ifdef STALE
  seen[d].w = NONE; seen[d].fresh = 0; seen[d].cont = 0; seen[d].ceil = 0;
#endif
#ifdef LOOKS
  take[d] = 0
#endif
}

/* daemon/grant/lend.go: drop. Another has opened the worker ID: what was issued from
   under it ends, before the own opening is sent. */
inline drop(worker) {
  if :: CUR.w == worker -> closed(1); clearHolding(CUR) :: else fi;
  if :: LEAV.w == worker -> closed(2); clearHolding(LEAV) :: else fi
}

/* An opening is stored. It leaves the ceiling alone (invariant 1). */
inline store(worker, continues, ceiling) {
  if :: !continues -> rec[worker].mark = 0 :: else fi;
#ifdef OPENING_LOWERS
  if :: continues -> rec[worker].ceil = CUR.mark :: else fi;
#else
  rec[worker].ceil = ceiling;
#endif
  opened(d, worker)
}

#ifdef STALE
#define READ(worker) (seen[d].w == worker)
#define DECIDED seen[d].cont
#define CURRENT seen[d].fresh
#else
#define READ(worker) true
#define DECIDED CONTINUES(w)
#define CURRENT true
#endif
#if defined(NO_VERSION_OPENING) || defined(OPENING_BY_READ)
#define SEALED true
#else
#define SEALED CURRENT
#endif
#ifdef NO_VERSION_OPENING
#define FOUND seen[d].ceil
#else
#define FOUND rec[w].ceil
#endif
#ifdef FLOOR_NOT_RECORD
#define FLOOR 0
#else
#define FLOOR FOUND
#endif

proctype daemon(bit d) {
  byte w, t;
  bit b;
end:
  do
  /* A crash at any moment: between any two steps, so also between any two writes. */
  :: d_step { MAYCRASH -> CRASHED; restart() }

#ifdef COPIES
#define ANSWERS !put[d]  /* an old copy while the coordinator is away: not promised */
#else
#define ANSWERS true
#endif
  /* Issuing from the journal's grant, without the coordinator (ColdStart, resume);
     from the worker ID that was being left if the newest has no grant. */
  :: d_step { RUNS && CUR.lane == NOLANE && CUR.op && CUR.granted > CUR.mark && UNTAKEN.w == NONE && ANSWERS ->
       openLane(CUR.mark) }
  :: d_step { RUNS && CUR.lane == NOLANE && CUR.op && CUR.granted <= CUR.mark && UNTAKEN.w == NONE && LEAV.w == NONE && ANSWERS &&
       jleav[d].w != NONE && jleav[d].granted > jleav[d].mark ->
       inherit(jleav[d]); openLane(CUR.mark) }

  /* The journal's mark goes ahead of the clock, inside the grant; the lane follows
     once it is on disk (Renew). */
  :: d_step { RUNS && CUR.lane == OPEN && CUR.mark < CUR.granted -> CUR.mark++; journal(); if :: !UNTAKEN.cont -> tidyHolding(CUR) :: else fi }
  :: d_step { RUNS && LEAV.lane == OPEN && LEAV.op && LEAV.mark < LEAV.granted -> LEAV.mark++; journal(); tidyHolding(LEAV) }
#ifdef DISKFAULTS
  /* The write fails at its very end: the new journal is on disk, nobody knows. */
  :: d_step { RUNS && CUR.lane == OPEN && CUR.mark < CUR.granted -> CUR.mark++; journal(); CUR.mark-- }
#endif

  /* A Take (generator/lane.go) of the watched tick. The others are in Holding.last. */
#ifndef LOOKS
  :: d_step { WATCHED(CUR) -> issue(CUR) }
  :: d_step { WATCHED(LEAV) -> issue(LEAV) }
#else
  /* In its two looks at the ceiling, with anything in between. */
  :: d_step { take[d] == 0 && WATCHED(CUR) -> take[d] = 1 }
  :: d_step { take[d] == 0 && WATCHED(LEAV) -> take[d] = 2 }
  :: d_step { take[d] == 1 -> take[d] = 0; if :: CUR.free -> issue(CUR) :: else fi }
  :: d_step { take[d] == 2 -> take[d] = 0; if :: LEAV.free -> issue(LEAV) :: else fi }
  :: d_step { take[d] == 3 -> take[d] = 0;
#ifdef NO_SECOND_LOOK
       assert(!issued); issued = 1
#endif
     }
#endif

  /* A node of one's own that nothing uses is deleted: the predecessor's, or an orphan
     (coord/lending/orphans.go). */
  :: atomic { RUNS && ((HAS(0) && !USES(0)) || (HAS(1) && !USES(1))) ->
       if :: HAS(0) && !USES(0) -> w = 0 :: HAS(1) && !USES(1) -> w = 1 fi;
       d_step { vanish(w); w = 0 } }
#ifdef STRAYS
  /* A create that was given up lands: a node that nothing uses, even of a dead process. */
  :: atomic { MAYLOSE && ((node[0] == 0 && !USES(0)) || (WORKERS > 1 && node[1] == 0 && !USES(1))) ->
       if :: node[0] == 0 && !USES(0) -> w = 0 :: WORKERS > 1 && node[1] == 0 && !USES(1) -> w = 1 fi;
       d_step { LOST; node[w] = 1 + d; w = 0 } }
#endif

#ifdef STALE
  /* The record is read; the claim, its look at the others and the opening come later. */
  :: atomic { RUNS && UNTAKEN.w == NONE && seen[d].w == NONE ->
       if :: w = 0 :: WORKERS > 1 -> w = 1 fi;
       d_step { seen[d].w = w; seen[d].fresh = 1; seen[d].cont = CONTINUES(w); seen[d].ceil = rec[w].ceil; w = 0 } }
#endif
  /* The claim and its opening (node.go: claimWorker, open): a re-lease, a claim after
     a loss, or the first. The node is made, and owns the worker ID, if there is none. */
  :: atomic { RUNS && UNTAKEN.w == NONE && ((node[0] == 0 && READ(0)) || (WORKERS > 1 && node[1] == 0 && READ(1))) ->
       if :: node[0] == 0 && READ(0) -> w = 0 :: WORKERS > 1 && node[1] == 0 && READ(1) -> w = 1 fi;
       b = DECIDED; t = FOUND;
       if
       :: d_step { SEALED -> /* stored, and answered */
            node[w] = 1 + d; if :: b -> CUR.claim = 0 :: else -> drop(w) fi;
            UNTAKEN.w = w; UNTAKEN.cont = b; UNTAKEN.floor = FLOOR; store(w, b, t); UNTAKEN.is = 1 }
       :: d_step { SEALED && MAYLOSE -> LOST; /* stored, and never known */
            node[w] = 1 + d; if :: b -> CUR.claim = 0 :: else -> drop(w) fi;
            store(w, b, t) }
       :: d_step { SEALED && MAYLOSE && late.kind == NOCALL -> LOST; /* given up; it may land */
            node[w] = 1 + d; if :: b -> CUR.claim = 0 :: else -> drop(w) fi;
            giveUp(OPENING, w, b, t, 0) }
       :: d_step { !b -> drop(w) } /* raced: another has written the record */
       :: d_step { !SEALED -> if :: !b -> drop(w) :: else fi }
       fi;
       d_step { w = 0; t = 0; b = 0;
#ifdef STALE
         seen[d].w = NONE; seen[d].fresh = 0; seen[d].cont = 0; seen[d].ceil = 0
#endif
       } }

  /* The acknowledged opening is journaled (lend.go: take). */
  :: d_step { RUNS && UNTAKEN.w != NONE ->
       t = (jcur[d].w == UNTAKEN.w -> jcur[d].mark : 0);
       if
       :: UNTAKEN.cont -> /* the lane goes on, or the journal's mark is the floor */
          if :: CUR.lane == NOLANE -> openLane(CUR.mark) :: else fi;
#ifndef GRANT_PUT_BACK
          CUR.granted = MIN(CUR.granted, UNTAKEN.floor)
#endif
       :: else -> /* the record's ceiling is the floor */
          if
          :: CUR.lane == OPEN && LEAV.lane == NOLANE -> copyHolding(LEAV, CUR);
#ifdef LOOKS
             if :: take[d] == 1 -> take[d] = 2 :: else fi
#endif
          :: else -> closed(1)
          fi;
          clearHolding(CUR); CUR.w = UNTAKEN.w; CUR.op = 1; CUR.mark = UNTAKEN.floor; openLane(UNTAKEN.floor)
       fi;
       CUR.is = UNTAKEN.is; CUR.claim = 1; CUR.was = 0;
#ifdef HOLDER_IS_START
       CUR.own = 1;
#endif
       journal();
#ifdef NEW_HOLDER_OLD_MARK
       if :: !UNTAKEN.cont -> jcur[d].mark = t :: else fi;
#endif
       clearClaim(UNTAKEN); t = 0; tidyHolding(LEAV) }
#ifdef DISKFAULTS
  /* The same: the new journal is on disk, the old state goes on. */
  :: d_step { RUNS && UNTAKEN.w != NONE ->
       if
       :: CUR.lane == OPEN && LEAV.lane == NOLANE && !UNTAKEN.cont -> copyEntry(jleav[d], jcur[d])
       :: else
       fi;
       jcur[d].w = UNTAKEN.w; jcur[d].is = UNTAKEN.is; jcur[d].own = 0; jcur[d].was = 0;
       if
       :: UNTAKEN.cont -> jcur[d].mark = CUR.mark; jcur[d].granted = MIN(CUR.granted, UNTAKEN.floor)
       :: else -> jcur[d].mark = UNTAKEN.floor; jcur[d].granted = 0
       fi }
#endif

  /* Extend (held.go), as Publish calls it (lend.go). */
  :: atomic { RUNS && CUR.claim && CUR.lane == OPEN && UNTAKEN.w == NONE && STANDS(CUR) ->
       t = CUR.granted; do :: t < LIMIT(CUR.w) -> t++ :: break od;
       w = MAX(rec[CUR.w].ceil, t); /* invariant 1 */
#ifdef GRANT_EARLY
       d_step { journal(); jcur[d].granted = t };
#endif
       if
       :: d_step { true -> rec[CUR.w].ceil = w; rec[CUR.w].mark = MAX(rec[CUR.w].mark, CUR.mark); written(CUR.w);
            CUR.granted = t }
       :: d_step { MAYLOSE -> LOST; rec[CUR.w].ceil = w; rec[CUR.w].mark = MAX(rec[CUR.w].mark, CUR.mark); written(CUR.w) }
       :: d_step { MAYLOSE && late.kind == NOCALL -> LOST; giveUp(EXTEND, CUR.w, 0, w, CUR.mark);
#ifdef UNKNOWN_IS_DONE
            CUR.granted = t
#endif
          }
       fi;
       d_step { t = 0; w = 0 } }
  :: d_step { RUNS && CUR.claim && !STANDS(CUR) -> CUR.claim = 0; if :: !UNTAKEN.cont -> tidyHolding(CUR) :: else fi } /* ErrLost */

  /* The worker ID that was replaced is given back (lend.go: leave): the lane is
     closed, the journal forgets it, the record is lowered. */
#ifdef LOWER_BEFORE_CLOSE
#define LOWERS (LEAV.lane == OPEN && !LEAV.op)
  :: d_step { RUNS && LEAV.lane == OPEN && LEAV.op -> LEAV.op = 0; journal() }
#else
#define LOWERS (LEAV.lane == CLOSED)
  :: atomic { RUNS && LEAV.lane == OPEN ->
       t = LEAV.last; do :: t < CEILING(LEAV) -> t++ :: break od; skip;
       d_step {
         closed(2); LEAV.lane = CLOSED; LEAV.last = t; LEAV.free = 0; t = 0;
#ifndef LOWER_BEFORE_JOURNAL
         LEAV.op = 0; LEAV.mark = 0; LEAV.granted = 0; journal()
#endif
       } }
#endif
  :: atomic { RUNS && LOWERS && STANDS(LEAV) ->
       if
       :: d_step { true -> LEAV.claim = 0; rec[LEAV.w].ceil = LEAV.last; rec[LEAV.w].mark = LEAV.last; written(LEAV.w); vanish(LEAV.w) }
       :: d_step { MAYLOSE && late.kind == NOCALL -> LOST; giveUp(RELEASE, LEAV.w, 0, LEAV.last, LEAV.last) }
       fi }
  :: d_step { RUNS && LOWERS && !STANDS(LEAV) -> closed(2); clearHolding(LEAV);
#ifdef LOWER_BEFORE_JOURNAL
       journal()
#endif
     }

  /* A clean stop (lend.go: Shut). The lane is closed; then the journal has a mark that
     is not below the published one, and no grant if the coordinator answered; then the
     record is lowered; then the journal has the exact tick. */
  :: atomic { RUNS && CUR.lane == OPEN && LEAV.lane != OPEN ->
       if :: STANDS(CUR) -> b = 1 :: b = 0 fi;
       t = CUR.last; do :: t < CEILING(CUR) -> t++ :: break od;
       w = t; do :: w < CUR.mark -> w++ :: break od; skip;
       d_step {
         closed(1); CUR.lane = CLOSED; CUR.last = t; CUR.free = 0;
         if :: b -> rec[CUR.w].mark = MAX(rec[CUR.w].mark, t); written(CUR.w); stopping[d] = 1 :: else fi;
#ifndef LOWER_BEFORE_JOURNAL
         CUR.mark = w; if :: b -> CUR.granted = 0 :: else fi; journal();
#endif
         if :: !b -> restart() :: else fi;
         w = 0; t = 0; b = 0 } }
  :: atomic { stopping[d] == 1 ->
       if
       :: d_step { STANDS(CUR) -> rec[CUR.w].ceil = CUR.last; rec[CUR.w].mark = CUR.last; written(CUR.w); vanish(CUR.w); stopping[d] = 2 }
       :: d_step { STANDS(CUR) && MAYLOSE && late.kind == NOCALL -> LOST; giveUp(RELEASE, CUR.w, 0, CUR.last, CUR.last); restart() }
       :: d_step { !STANDS(CUR) -> restart() }
       fi }
  :: d_step { stopping[d] == 2 -> CUR.mark = CUR.last; CUR.granted = 0; journal(); restart() }

#ifdef COPIES
  /* The journal is copied, and put back when the daemon is down. Refused must be what
     is older than the last publish; what has the opening's last mark may pass. */
  :: d_step { jcur[d].w != NONE && jcur[d].is && !put[d] -> copyEntry(copy[d], jcur[d]) }
  :: d_step { MAYCRASH && copy[d].w != NONE && (rec[copy[d].w].mark > copy[d].mark ||
       (jcur[d].is && jcur[d].w == copy[d].w && jcur[d].mark <= copy[d].mark)) -> CRASHED;
       copyEntry(jcur[d], copy[d]); clearEntry(jleav[d]); put[d] = 1; restart() }
  /* The journal is lost, or torn. */
  :: d_step { MAYCRASH && jcur[d].w != NONE -> CRASHED; clearEntry(jcur[d]); clearEntry(jleav[d]); put[d] = 0; restart() }
#endif
  od
}

#define LATER(worker) MAX(rec[worker].ceil, MIN(t, LIMIT(worker)))

/* What happens to the coordinator. */
proctype world() {
  byte w, t;
end:
  do
  :: d_step { MAYEXPIRE(0) -> EXPIRED(0); vanish(0) }
  :: d_step { MAYEXPIRE(1) -> EXPIRED(1); vanish(1) }

  /* A call that was given up lands, or never does. written and vanish have taken care
     of those that cannot land any more: the record or the node is another one. */
  :: d_step { late.kind == EXTEND || late.kind == RELEASE ->
       w = late.w; t = late.kind;
       rec[w].ceil = late.ceil; rec[w].mark = (t == EXTEND -> MAX(rec[w].mark, late.mark) : late.mark); forget(); written(w);
       if :: t == RELEASE -> vanish(w) :: else fi;
       w = 0; t = 0 }
  :: d_step { late.kind == OPENING ->
       w = late.w; t = late.d;
       rec[w].ceil = late.ceil; if :: !late.cont -> rec[w].mark = 0 :: else fi; forget(); opened(t, w);
       w = 0; t = 0 }
  :: d_step { late.kind != NOCALL -> forget() }

#ifdef RAISES
  /* `flakeward marks raise`: a floor for all records, and a new era. */
  :: atomic { true ->
       t = 0; do :: t < TICKS -> t++ :: break od; skip;
       d_step { rec[0].ceil = LATER(0); rec[1].ceil = LATER(1); newEra(); t = 0 } }
#endif
#ifdef RESTORES
  /* The coordinator is put back from a backup, and all marks are raised above what was
     granted, before a daemon starts. */
  :: d_step { !saved -> saved = 1;
       backup[0].ceil = rec[0].ceil; backup[0].mark = rec[0].mark; backup[1].ceil = rec[1].ceil; backup[1].mark = rec[1].mark;
#ifdef NO_ERA
       jcur[0].was = jcur[0].is; jcur[1].was = jcur[1].is; cur[0].was = cur[0].is; cur[1].was = cur[1].is;
       leav[0].was = leav[0].is; leav[1].was = leav[1].is; jleav[0].was = jleav[0].is; jleav[1].was = jleav[1].is
#endif
     }
  :: atomic { saved && !restored ->
       t = MAX(rec[0].ceil, rec[1].ceil); do :: t < TICKS -> t++ :: break od; skip;
       d_step { restored = 1;
         rec[0].ceil = backup[0].ceil; rec[0].mark = backup[0].mark; rec[1].ceil = backup[1].ceil; rec[1].mark = backup[1].mark;
         rec[0].ceil = LATER(0); rec[1].ceil = LATER(1); newEra();
         backup[0].ceil = 0; backup[0].mark = 0; backup[1].ceil = 0; backup[1].mark = 0; t = 0 } }
#endif
  od
}

init {
  atomic {
    watch = 1; do :: watch < TICKS -> watch++ :: break od; skip;
    d_step {
      clearHolding(cur[0]); clearHolding(cur[1]); clearHolding(leav[0]); clearHolding(leav[1]);
      clearClaim(untaken[0]); clearClaim(untaken[1]);
      clearEntry(jcur[0]); clearEntry(jcur[1]); clearEntry(jleav[0]); clearEntry(jleav[1]);
#ifdef STALE
      seen[0].w = NONE; seen[1].w = NONE;
#endif
#ifdef COPIES
      clearEntry(copy[0]); clearEntry(copy[1])
#endif
    };
    run daemon(0); run daemon(1); run world()
  }
}
