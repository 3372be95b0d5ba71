/*
 * A spare: a second worker ID, claimed, opened and granted in reserve, so that a
 * re-lease takes no round trip. The journal has it from its opening on, with its floor
 * as the mark.
 */
#ifdef SPARES

/* Its opening is acknowledged, and journaled. */
inline takeSpare() {
  RUNS && PENDING.w != NONE && PENDING.spare ->
  if
  :: PENDING.cont -> SPARE.granted = MIN(SPARE.granted, PENDING.floor)
  :: else -> clearHolding(SPARE); SPARE.w = PENDING.w; SPARE.op = 1; SPARE.mark = PENDING.floor
  fi;
  SPARE.is = PENDING.is; SPARE.claim = 1; clearClaim(PENDING); journal();
  printf("daemon %d: journals its spare, worker ID %d, mark %d, granted %d\n", d, SPARE.w, SPARE.mark, SPARE.granted)
}

#define MAYEXTENDSPARE (RUNS && CUR.lane == OPEN && SPARE.lane == NOLANE && PENDING.w == NONE && STANDS(SPARE))

/* The re-lease. The claim may be lost by then, for its grant is not. */
inline useSpare() {
  RUNS && CUR.lane == OPEN && LEAV.w == NONE && PENDING.w == NONE && SPARE.w != NONE && SPARE.lane == NOLANE ->
  setAside(); copyHolding(CUR, SPARE); clearHolding(SPARE); openLane(CUR.mark);
  printf("daemon %d: changes to its spare, worker ID %d, above %d, granted %d\n", d, CUR.w, CUR.mark, CUR.granted);
#ifdef SPARE_UNJOURNALED
  CUR.mark = CUR.granted
#else
  journal()
#endif
}

/* A start without the coordinator may use its grant, too. */
inline coldSpare() {
  COLD && LEAV.w == NONE && SPARE.w != NONE && SPARE.lane == NOLANE && SPARE.granted > SPARE.mark ->
  copyHolding(CUR, SPARE); clearHolding(SPARE); openLane(CUR.mark);
  printf("daemon %d: starts cold with its spare, worker ID %d, above %d\n", d, CUR.w, CUR.mark)
}

/* It is given back unused, in the order of every release. */
inline leaveSpare() {
  RUNS && PENDING.w == NONE && SPARE.w != NONE && SPARE.lane == NOLANE ->
  SPARE.lane = CLOSED; SPARE.last = SPARE.mark;
#ifndef SPARE_LOWERED_FIRST
  SPARE.op = 0; SPARE.mark = 0; SPARE.granted = 0; journal();
#endif
  printf("daemon %d: leaves its spare, worker ID %d, last tick %d\n", d, SPARE.w, SPARE.last)
}
#endif
