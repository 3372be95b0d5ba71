/*
 * What a daemon does alone, without the coordinator: its journal, its restarts, and
 * the numbers that it gives.
 */

/* daemon/grant/journal.go: write, contents. A write that fails is no write. */
inline enter(e, h) {
  if
  :: h.op -> e.w = h.w; e.is = h.is; e.own = h.own; e.was = h.was; e.mark = h.mark; e.granted = h.granted
  :: else -> clearEntry(e)
  fi
}
inline journal() {
  enter(jcur[d], CUR); enter(jleav[d], LEAV);
#ifdef PUTBACKS
  put[d] = 0;
#endif
#ifdef MOVES
  away[d] = JOURNALED_AWAY;
#endif
  tidyEntry(jcur[d]);
  if :: jcur[d].w != NONE && jleav[d].granted <= jleav[d].mark -> clearEntry(jleav[d]) :: else fi /* nothing to start from */
}

inline inherit(h, e) {
  clearHolding(h); h.w = e.w; h.op = (e.w != NONE); h.is = e.is; h.was = e.was; h.mark = e.mark; h.granted = e.granted;
  believe(h)
}

/* The process ends, and the next one reads the journal (daemon/grant/migration.go:
   Inherit). It is down for as long as it does nothing. */
inline restart() {
  stopping[d] = 0;
#ifdef CLONES
  cloned[d] = 0;
#endif
  foldFloors();
  jcur[d].own = 0; jleav[d].own = 0;
  inherit(CUR, jcur[d]); clearHolding(LEAV); clearClaim(PENDING);
#ifdef STALE
  seen[d].w = NONE; seen[d].fresh = 0; seen[d].cont = 0; seen[d].ceil = 0;
#endif
#ifdef LOOKS
  take[d] = 0
#endif
}

/* At any moment: between any two steps, so also between any two writes. */
inline crash() {
  MAYCRASH -> CRASHED; printf("daemon %d: crashes, and starts again from its journal\n", d);
  restart()
}

inline openLane(at) {
  CUR.lane = OPEN; CUR.last = at; CUR.free = (CUR.w == 0 && at < watch)
}

/* Issuing from the journal's grant, without the coordinator (ColdStart, resume); from
   the worker ID that was being left if the newest has no grant, or the clock is past it. */
#define COLD (RUNS && CUR.lane == NOLANE && CUR.op && PENDING.w == NONE && ANSWERS)
inline coldStart() {
  COLD && CUR.granted > CUR.mark -> printf("daemon %d: starts cold with worker ID %d above %d\n", d, CUR.w, CUR.mark);
  openLane(CUR.mark)
}
inline coldStartOlder() {
  COLD && MAYSTART && LEAV.w == NONE && jleav[d].w != NONE && jleav[d].granted > jleav[d].mark ->
  printf("daemon %d: starts cold with the worker ID before, %d, above %d\n", d, jleav[d].w, jleav[d].mark);
  inherit(CUR, jleav[d]); openLane(CUR.mark)
}
/* Where the newest is not in the journal, the one that was being left is the newest. */
inline inheritOlder() {
  RUNS && MAYINHERIT && CUR.w == NONE && LEAV.w == NONE && PENDING.w == NONE && jleav[d].w != NONE ->
  printf("daemon %d: goes on from the worker ID before, %d, mark %d\n", d, jleav[d].w, jleav[d].mark);
  inherit(CUR, jleav[d])
}

/* The journal's mark goes ahead of the clock, inside the grant; the lane follows once
   it is on disk (Renew). */
#define BEHIND(h) (RUNS && h.lane == OPEN && h.mark < h.granted && NEAR(h.mark + 1))
inline renew() {
  BEHIND(CUR) -> CUR.mark++; printf("daemon %d: journals mark %d of worker ID %d\n", d, CUR.mark, CUR.w);
  journal(); if :: !PENDING.cont -> tidyHolding(CUR) :: else fi
}
inline renewLeaving() {
  BEHIND(LEAV) && LEAV.op -> LEAV.mark++; printf("daemon %d: journals mark %d of worker ID %d, which is left\n", d, LEAV.mark, LEAV.w);
  journal(); tidyHolding(LEAV)
}
/* The write fails at its very end: the new journal is on disk, nobody knows. */
inline renewFails() {
  BEHIND(CUR) -> CUR.mark++; printf("daemon %d: journals mark %d of worker ID %d, and takes it for not written\n", d, CUR.mark, CUR.w);
  journal(); CUR.mark--
}

/* An ID leaves the daemon. Invariant 4: its slot is used now. */
inline issue(h) {
  printf("daemon %d: ISSUES tick %d of worker ID 0 (journal's mark %d, granted %d)\n", d, watch, h.mark, h.granted);
#ifndef SLOT_TWICE
  h.free = 0;
#endif
  h.last = MAX(h.last, watch); if :: !PENDING.cont -> tidyHolding(h) :: else fi;
  assert(!issued || EXCUSED); issued = 1;
#ifdef WIPES
  knew[d] = 1
#endif
}

/* A Take (generator/lane.go) of the watched tick. The others are in Holding.last. */
inline issueCur() { WATCHED(CUR) -> issue(CUR) }
inline issueLeaving() { WATCHED(LEAV) -> issue(LEAV) }

/* A lane is closed. With LOOKS a Take has two looks at the ceiling, with anything in
   between; with NO_SECOND_LOOK it has one. */
inline closed(which) {
#ifdef LOOKS
  if :: take[d] == which -> take[d] = 3 :: else fi
#else
  skip
#endif
}
#ifdef LOOKS
inline lookCur() { take[d] == 0 && WATCHED(CUR) -> take[d] = 1; printf("daemon %d: looks at worker ID 0's ceiling\n", d) }
inline lookLeaving() { take[d] == 0 && WATCHED(LEAV) -> take[d] = 2; printf("daemon %d: looks at worker ID 0's ceiling\n", d) }
inline takeCur() { take[d] == 1 -> take[d] = 0; if :: CUR.free && STILL -> issue(CUR) :: else fi }
inline takeLeaving() { take[d] == 2 -> take[d] = 0; if :: LEAV.free && STILL -> issue(LEAV) :: else fi }
inline takeClosed() {
  take[d] == 3 -> take[d] = 0;
#ifdef NO_SECOND_LOOK
  printf("daemon %d: ISSUES tick %d of worker ID 0 from a closed lane\n", d, watch);
  assert(!issued); issued = 1
#endif
}
#endif

#ifdef ROLLBACKS
inline tick() { clock[d] < TICKS -> clock[d]++; printf("daemon %d: its clock shows %d\n", d, clock[d]) }
inline rollBack() {
  rollbacks[d] < ROLLBACKS && clock[d] > 0 ->
  t = 0; do :: t + 1 < clock[d] -> t++ :: break od; skip;
  d_step { rollbacks[d]++; clock[d] = t; t = 0; printf("daemon %d: its clock goes back to %d\n", d, clock[d]) }
}
#endif

#ifdef PUTBACKS
/* The journal is copied, and put back in its place when the daemon is down. Refused must be what
   is older than the last publish; what has the opening's last mark may pass. */
inline saveJournal() {
  jcur[d].w != NONE && jcur[d].is && !put[d] -> printf("daemon %d: its journal is copied, with mark %d\n", d, jcur[d].mark);
  copyEntry(copy[d], jcur[d])
}
inline putCopy() {
  MAYCRASH && copy[d].w != NONE && (rec[copy[d].w].mark > copy[d].mark ||
    (jcur[d].is && jcur[d].w == copy[d].w && jcur[d].mark <= copy[d].mark)) -> CRASHED;
  printf("daemon %d: crashes, and starts again from the copy of its journal\n", d);
  copyEntry(jcur[d], copy[d]); clearEntry(jleav[d]); put[d] = 1; restart()
}
inline loseJournal() {
  MAYCRASH && jcur[d].w != NONE -> CRASHED; printf("daemon %d: crashes, and its journal is gone\n", d);
  clearEntry(jcur[d]); clearEntry(jleav[d]); put[d] = 0; restart()
}
#endif
