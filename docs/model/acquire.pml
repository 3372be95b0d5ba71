/*
 * What a daemon does with the coordinator: it claims and opens, has its grant
 * extended, and gives back.
 */

/* daemon/grant/acquire.go: drop. Another has opened the worker ID: what was issued from
   under it ends, before the own opening is sent. */
inline drop(worker) {
  if :: CUR.w == worker -> closed(1); clearHolding(CUR) :: else fi;
  if :: LEAV.w == worker -> closed(2); clearHolding(LEAV) :: else fi
}

/* A node of one's own that nothing uses is deleted: the predecessor's, or an orphan
   (coord/claims/nodes.go). */
#define UNUSED(worker) (HAS(worker) && !USES(worker))
inline reap() {
  RUNS && MAYREAP && (UNUSED(0) || UNUSED(1)) ->
  if :: UNUSED(0) -> w = 0 :: UNUSED(1) -> w = 1 fi;
  d_step { printf("daemon %d: deletes a claim of its own on worker ID %d\n", d, w); vanish(w); w = 0 }
}

#define FREE(worker) (worker < WORKERS && node[worker] == 0)
#ifdef STRAYS
/* A create that was given up lands: a node that nothing uses, even of a dead process. */
inline stray() {
  MAYLOSE && ((FREE(0) && !USES(0)) || (FREE(1) && !USES(1))) ->
  if :: FREE(0) && !USES(0) -> w = 0 :: FREE(1) && !USES(1) -> w = 1 fi;
  d_step { LOST; node[w] = 1 + d; printf("daemon %d: a late claim of its own lands on worker ID %d\n", d, w); w = 0 }
}
#endif

#ifdef STALE
/* The record is read; the claim, its look at the others and the opening come later. */
inline readRecord() {
  RUNS && PENDING.w == NONE && seen[d].w == NONE ->
  if :: w = 0 :: WORKERS > 1 -> w = 1 fi;
  d_step {
    seen[d].w = w; seen[d].fresh = 1; seen[d].cont = CONTINUES(CUR, w); seen[d].ceil = rec[w].ceil;
    printf("daemon %d: reads record %d, ceiling %d, own %d\n", d, w, seen[d].ceil, seen[d].cont); w = 0 }
}
#endif

/* An opening is stored. It leaves the ceiling alone (invariant 1). */
inline store(worker, continues, ceiling) {
  if :: !continues -> PUBLISH(worker, 0) :: else fi;
#ifdef OPENING_LOWERS
  if :: continues -> rec[worker].ceil = CUR.mark :: else fi;
#else
  rec[worker].ceil = ceiling;
#endif
  opened(d, worker)
}

/* The node is made, and owns the worker ID, for there is no other. What is lost in
   memory ends before the opening is sent (invariant 6). */
inline claimNode() {
  node[w] = 1 + d;
  if
  :: !b -> drop(w)
  :: b -> CUR.claim = 0
  fi
}

/* The claim and its opening (node.go: claimWorker, open): a re-lease, a claim after
   a loss, or the first. */
inline acquire() {
  RUNS && JOINED && SEEN && PENDING.w == NONE && ((FREE(0) && READ(0)) || (FREE(1) && READ(1))) ->
  if :: FREE(0) && READ(0) -> w = 0 :: FREE(1) && READ(1) -> w = 1 fi;
  b = DECIDED; t = FOUND;
  if
  :: d_step { SEALED ->
       claimNode();
       PENDING.w = w; PENDING.cont = b; PENDING.floor = FLOOR; store(w, b, t); PENDING.is = 1;
       printf("daemon %d: opens record %d, ceiling %d, continues %d\n", d, w, t, b) }
  :: d_step { SEALED && MAYLOSE -> LOST;
       claimNode(); store(w, b, t);
       printf("daemon %d: opens record %d, ceiling %d, continues %d, and never learns of it\n", d, w, t, b) }
  :: d_step { SEALED && MAYLOSE && late.kind == NOCALL -> LOST;
       claimNode(); giveUp(OPENING, w, b, t, 0);
       printf("daemon %d: sends an opening of record %d, ceiling %d, continues %d, and gives up on it\n", d, w, t, b) }
  :: d_step { !b -> drop(w); printf("daemon %d: comes too late for record %d\n", d, w) } /* another has written it */
  :: d_step { !SEALED -> if :: !b -> drop(w) :: else fi; printf("daemon %d: comes too late for record %d\n", d, w) }
  fi;
  d_step { w = 0; t = 0; b = 0;
#ifdef STALE
    seen[d].w = NONE; seen[d].fresh = 0; seen[d].cont = 0; seen[d].ceil = 0
#endif
  }
}

/* What is held goes aside for what was just opened; there is room for one. */
inline setAside() {
  if
  :: CUR.lane == OPEN && LEAV.lane == NOLANE -> copyHolding(LEAV, CUR);
#ifdef LOOKS
     if :: take[d] == 1 -> take[d] = 2 :: else fi
#endif
  :: else -> closed(1)
  fi
}

/* The acknowledged opening is journaled (acquire.go: adopt). */
inline takeUp() {
  RUNS && PENDING.w != NONE ->
  t = (jcur[d].w == PENDING.w -> jcur[d].mark : 0);
  if
  :: PENDING.cont -> /* the lane goes on, or the journal's mark is the floor */
     if :: CUR.lane == NOLANE -> openLane(CUR.mark) :: else fi;
#ifndef GRANT_PUT_BACK
     CUR.granted = MIN(CUR.granted, PENDING.floor)
#endif
  :: else -> /* the record's ceiling is the floor */
     setAside();
     clearHolding(CUR); CUR.w = PENDING.w; CUR.op = 1; CUR.mark = MAX(PENDING.floor, ABOVE(CUR.w)); openLane(CUR.mark)
  fi;
  CUR.is = PENDING.is; CUR.claim = 1; CUR.was = 0;
#ifdef HOLDER_IS_START
  CUR.own = 1;
#endif
  journal();
#ifdef NEW_HOLDER_OLD_MARK
  if :: !PENDING.cont -> jcur[d].mark = t :: else fi;
#endif
  printf("daemon %d: journals its opening of worker ID %d, mark %d, granted %d\n", d, jcur[d].w, jcur[d].mark, jcur[d].granted);
  clearClaim(PENDING); t = 0; tidyHolding(LEAV)
}
/* The same, as the write fails at its end: the new journal is on disk, the old state
   goes on. */
inline takeUpFails() {
  RUNS && PENDING.w != NONE ->
  if
  :: CUR.lane == OPEN && LEAV.lane == NOLANE && !PENDING.cont -> copyEntry(jleav[d], jcur[d])
  :: else
  fi;
  jcur[d].w = PENDING.w; jcur[d].is = PENDING.is; jcur[d].own = 0; jcur[d].was = 0;
  if
  :: PENDING.cont -> jcur[d].mark = CUR.mark; jcur[d].granted = MIN(CUR.granted, PENDING.floor)
  :: else -> jcur[d].mark = PENDING.floor; jcur[d].granted = 0
  fi;
  printf("daemon %d: journals its opening of worker ID %d, mark %d, and takes it for not written\n", d, jcur[d].w, jcur[d].mark)
}

/* Extend (held.go), as Publish calls it (acquire.go). */
#define MAYEXTEND (RUNS && CUR.lane == OPEN && PENDING.w == NONE && STANDS(CUR))
inline extend(h) {
  t = h.granted; do :: t < LIMIT(h.w) -> t++ :: break od;
  w = RAISED(h.w, t); /* invariant 1 */
#ifdef GRANT_EARLY
  d_step { journal(); jcur[d].granted = t; printf("daemon %d: journals the grant to %d\n", d, t) };
#endif
  if
  :: d_step { true ->
       rec[h.w].ceil = w; PUBLISH(h.w, MAX(rec[h.w].mark, h.mark)); written(h.w); h.granted = t;
       printf("daemon %d: extends worker ID %d to %d\n", d, h.w, t) }
  :: d_step { MAYLOSE -> LOST;
       rec[h.w].ceil = w; PUBLISH(h.w, MAX(rec[h.w].mark, h.mark)); written(h.w);
       printf("daemon %d: extends worker ID %d to %d, and never learns of it\n", d, h.w, t) }
  :: d_step { MAYLOSE && late.kind == NOCALL -> LOST; giveUp(EXTEND, h.w, 0, w, h.mark);
#ifdef UNKNOWN_IS_DONE
       h.granted = t;
#endif
       printf("daemon %d: asks for worker ID %d to %d, and gives up on it\n", d, h.w, t) }
  fi;
  d_step { t = 0; w = 0 }
}
/* ErrLost. */
inline lose(h) {
  RUNS && h.claim && !STANDS(h) -> h.claim = 0; printf("daemon %d: learns that its claim on worker ID %d is lost\n", d, h.w);
  if :: !PENDING.cont -> tidyHolding(h) :: else fi
}

/* The end of a release: the record is lowered and the claim deleted in one write. */
#define LOWERED(h) rec[h.w].ceil = h.last; PUBLISH(h.w, h.last); written(h.w); vanish(h.w)

/* The worker ID that was replaced is given back (acquire.go: leave): the lane is closed,
   the journal forgets it, the record is lowered. */
#ifdef LOWER_BEFORE_CLOSE
#define LOWERS(h) (h.lane == OPEN && !h.op)
#else
#define LOWERS(h) (h.lane == CLOSED)
#endif
inline leaveUnclosed() {
  RUNS && LEAV.lane == OPEN && LEAV.op -> LEAV.op = 0; journal()
}
inline leave() {
  RUNS && LEAV.lane == OPEN ->
  t = LEAV.last; do :: t < CEILING(LEAV) -> t++ :: break od; skip;
  d_step {
    closed(2); LEAV.lane = CLOSED; LEAV.last = t; LEAV.free = 0; t = 0;
#ifndef LOWER_BEFORE_JOURNAL
    LEAV.op = 0; LEAV.mark = 0; LEAV.granted = 0; journal();
#endif
    printf("daemon %d: closes the lane of worker ID %d, last tick %d\n", d, LEAV.w, LEAV.last) }
}
inline giveBack(h) {
  RUNS && LOWERING && LOWERS(h) && STANDS(h) ->
  if
  :: d_step { true -> h.claim = 0; LOWERED(h); printf("daemon %d: gives worker ID %d back, ceiling %d\n", d, h.w, h.last) }
  :: d_step { MAYLOSE && late.kind == NOCALL -> LOST; giveUp(RELEASE, h.w, 0, h.last, h.last);
       printf("daemon %d: gives worker ID %d back, ceiling %d, and gives up on it\n", d, h.w, h.last) }
  fi
}
inline isBack(h) {
  RUNS && LOWERS(h) && !STANDS(h) -> printf("daemon %d: has left worker ID %d\n", d, h.w);
  closed(2); clearHolding(h);
#ifdef LOWER_BEFORE_JOURNAL
  journal()
#endif
}

/* A clean stop (acquire.go: Shut). The lane is closed; then the journal has a mark that
   is not below the published one, and no grant if the coordinator answered; then the
   record is lowered; then the journal has the exact tick. */
inline stop() {
  RUNS && CUR.lane == OPEN && LEAV.lane != OPEN ->
  if :: STANDS(CUR) -> b = 1 :: b = 0 fi;
  t = CUR.last; do :: t < CEILING(CUR) -> t++ :: break od;
  w = t; do :: w < CUR.mark -> w++ :: break od; skip;
  d_step {
    closed(1); CUR.lane = CLOSED; CUR.last = t; CUR.free = 0;
    printf("daemon %d: stops, last tick %d of worker ID %d; the coordinator answers: %d\n", d, t, CUR.w, b);
    if :: b -> PUBLISH(CUR.w, MAX(rec[CUR.w].mark, t)); written(CUR.w); stopping[d] = 1 :: else fi;
#ifndef LOWER_BEFORE_JOURNAL
    CUR.mark = w; if :: b -> CUR.granted = 0 :: else fi; journal();
#endif
    if :: !b -> restart() :: else fi;
    w = 0; t = 0; b = 0 }
}
inline stopped() {
  stopping[d] == 1 ->
  if
  :: d_step { STANDS(CUR) && LOWERING -> LOWERED(CUR); stopping[d] = 2;
       printf("daemon %d: gives worker ID %d back, ceiling %d\n", d, CUR.w, CUR.last) }
  :: d_step { STANDS(CUR) && LOWERING && MAYLOSE && late.kind == NOCALL -> LOST; giveUp(RELEASE, CUR.w, 0, CUR.last, CUR.last);
       printf("daemon %d: gives worker ID %d back, ceiling %d, gives up on it, and starts again\n", d, CUR.w, CUR.last); restart() }
  :: d_step { !STANDS(CUR) -> printf("daemon %d: has lost worker ID %d, and starts again\n", d, CUR.w); restart() }
  fi
}
inline stopJournaled() {
  stopping[d] == 2 -> CUR.mark = CUR.last; CUR.granted = 0; journal();
  printf("daemon %d: journals its last tick, %d, and starts again\n", d, CUR.mark); restart()
}
/* One that comes before there is a lane. Where crashes are without bound it is one. */
inline stopIdle() {
  RUNS && CUR.lane == NOLANE && LEAV.lane == NOLANE -> printf("daemon %d: stops before it has a lane, and starts again\n", d); restart()
}
