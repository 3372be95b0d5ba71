/*
 * What becomes of everybody's state when a record is written, a claim ends, or all
 * marks are raised; and the coordinator's own steps.
 */

inline forget() { late.kind = NOCALL; late.d = 0; late.w = 0; late.cont = 0; late.ceil = 0; late.mark = 0 }

inline giveUp(what, worker, continues, ceiling, published) {
  late.kind = what; late.d = d; late.w = worker; late.cont = continues; late.ceil = ceiling; late.mark = published
}

/* The mark that a record shows decides only about a journal that was put back. */
#ifdef REDUCED
#define PUBLISH(worker, published) skip
#else
#define PUBLISH(worker, published) rec[worker].mark = (published)
#endif

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
   at once, so that there are fewer states. */
#ifdef WIPES
#define IDLE(ref) false /* its mark is a floor */
#else
#define IDLE(ref) (DEAD(ref) && ref.granted <= ref.mark)
#endif
inline tidyEntry(e) { if :: IDLE(e) -> clearEntry(e) :: else fi }
inline tidyHolding(h) {
  if :: IDLE(h) && !h.claim && !(h.free && watch <= h.granted) -> clearHolding(h) :: else fi
}

inline tidy(o) {
  if :: !pending[o].cont -> tidyHolding(cur[o]) :: else fi; /* its mark is still to be taken over */
  tidyHolding(leav[o]); tidyEntry(jcur[o]); tidyEntry(jleav[o]);
#ifdef PUTBACKS
  if :: !copy[o].is -> clearEntry(copy[o]) :: else fi; /* refused: as good as none */
#endif
#ifdef COPIES
  tidyEntry(copied); tidyEntry(copiedLeav);
#endif
#ifdef CLONES
  if :: !imagePending.cont -> tidyHolding(imageCur) :: else fi;
  tidyHolding(imageLeav); tidyEntry(imageJcur); tidyEntry(imageJleav);
#endif
  skip
}

/* A new opening is the holder: whoever remembers another one has an old one. With
   HOLDER_IS_START a start's openings are all alike. */
inline displaced(ref, mine, worker) {
  if :: ref.w == worker -> ref.is = (mine && ref.own) :: else fi
}
inline displace(o, who, worker) {
  displaced(cur[o], who == o, worker); displaced(leav[o], who == o, worker);
  displaced(jcur[o], who == o, worker); displaced(jleav[o], who == o, worker);
#ifdef PUTBACKS
  displaced(copy[o], who == o, worker);
#endif
#ifdef COPIES
  displaced(copied, false, worker); displaced(copiedLeav, false, worker);
#endif
#ifdef CLONES
  displaced(imageCur, false, worker); displaced(imageLeav, false, worker);
  displaced(imageJcur, false, worker); displaced(imageJleav, false, worker);
  if :: imagePending.w == worker -> imagePending.is = 0 :: else fi;
#endif
  if :: pending[o].w == worker -> pending[o].is = 0 :: else fi
}
inline opened(who, worker) {
  written(worker); displace(0, who, worker); displace(1, who, worker); tidy(0); tidy(1)
}

/* All marks were raised: what was opened before is continued by nobody. With NO_CLUSTER_EPOCH
   the holders are those of the backup. */
#ifdef NO_CLUSTER_EPOCH
#define VOID(ref) ref.is = ref.was
#else
#define VOID(ref) ref.is = 0
#endif
inline voided(o) {
  VOID(cur[o]); VOID(leav[o]); VOID(jcur[o]); VOID(jleav[o]); pending[o].is = 0;
#ifdef STALE
  seen[o].fresh = 0;
#endif
#ifdef PUTBACKS
  VOID(copy[o]);
#endif
#ifdef COPIES
  VOID(copied); VOID(copiedLeav);
#endif
  skip
}
inline newEra() {
  forget(); voided(0); voided(1); tidy(0); tidy(1)
}

/* A lease ends: early, late, or by an operator's hand. */
inline expire(worker) {
  MAYEXPIRE(worker) -> printf("environment: the claim of daemon %d on worker ID %d ends\n", node[worker] - 1, worker);
  EXPIRED(worker); vanish(worker)
}

/* A call that was given up lands, or never does. written and vanish have taken care of
   those that cannot land any more: the record or the node is another one. */
inline landWrite() {
  late.kind == EXTEND || late.kind == RELEASE ->
  printf("environment: a late write of daemon %d to record %d lands, ceiling %d\n", late.d, late.w, late.ceil);
  w = late.w; t = late.kind;
  rec[w].ceil = late.ceil; PUBLISH(w, (t == EXTEND -> MAX(rec[w].mark, late.mark) : late.mark)); forget(); written(w);
  if :: t == RELEASE -> vanish(w) :: else fi;
  w = 0; t = 0
}
inline landOpening() {
  late.kind == OPENING ->
  printf("environment: a late opening of daemon %d of record %d lands, ceiling %d\n", late.d, late.w, late.ceil);
  w = late.w; t = late.d;
  rec[w].ceil = late.ceil; if :: !late.cont -> PUBLISH(w, 0) :: else fi; forget(); opened(t, w);
  w = 0; t = 0
}

#define LATER(worker) MAX(rec[worker].ceil, MIN(t, LIMIT(worker)))

/* `flakeward cluster raise`: a floor for all records, and a new era. */
inline raiseAll() {
  true ->
  t = 0; do :: t < TICKS -> t++ :: break od; skip;
  d_step {
    printf("environment: all marks are raised to %d\n", t);
    rec[0].ceil = LATER(0); rec[1].ceil = LATER(1); newEra(); t = 0 }
}

/* A backup, and the return to it with the raise that must follow: above what was
   granted, and before a daemon starts. With CAPS it is only above what was issued. */
#ifdef CAPS
#define REACHED (issued -> watch : 0)
#else
#define REACHED MAX(rec[0].ceil, rec[1].ceil)
#endif
#ifdef RESTORES
inline backUp() {
  !saved -> saved = 1; printf("environment: the coordinator is backed up\n");
  backup[0].ceil = rec[0].ceil; backup[0].mark = rec[0].mark; backup[1].ceil = rec[1].ceil; backup[1].mark = rec[1].mark;
#ifdef NO_CLUSTER_EPOCH
  jcur[0].was = jcur[0].is; jcur[1].was = jcur[1].is; cur[0].was = cur[0].is; cur[1].was = cur[1].is;
  leav[0].was = leav[0].is; leav[1].was = leav[1].is; jleav[0].was = jleav[0].is; jleav[1].was = jleav[1].is
#endif
}
inline putBack() {
  saved && !restored ->
  t = REACHED; do :: t < TICKS -> t++ :: break od; skip;
  d_step {
    restored = 1; printf("environment: the backup is put back and all marks are raised to %d\n", t);
    rec[0].ceil = backup[0].ceil; rec[0].mark = backup[0].mark; rec[1].ceil = backup[1].ceil; rec[1].mark = backup[1].mark;
    rec[0].ceil = LATER(0); rec[1].ceil = LATER(1); newEra();
#ifdef CAPS
    cap = t;
#endif
    backup[0].ceil = 0; backup[0].mark = 0; backup[1].ceil = 0; backup[1].mark = 0; t = 0 }
}
#endif
