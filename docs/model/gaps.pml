/*
 * Gaps: what a record has granted is a set of ticks that only grows, and not one
 * ceiling. A model of its own, for spin: one worker ID, two daemons, a few ticks.
 *
 * The assertion, in issue, is uniqueness, as in flakeward.pml: one tick is watched,
 * any of them, and it is issued once. There are no claim nodes: any daemon opens the
 * record at any moment. Clocks show anything: each opening has any place, and a leap
 * has any width. Openings, crashes and lost replies are without bound. The rules are on
 * unless a switch (-DNAME) breaks one; README.md lists them.
 */

#ifndef TICKS
#define TICKS 5
#endif
#ifndef KEPT
#define KEPT 2           /* gaps that a record keeps; coord/claims/room.go has four */
#endif
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

#include "room.pml"

/*
 * A write that has no answer, and that may land until another one is stored. One is
 * enough: of all that are under way at most one is stored, as all compare the same
 * version. The record is still the one that it was decided on, so the decision is
 * carried out when it lands.
 */
typedef Call {
  unsigned kind : 3;     /* NOCALL, EXTEND, RELEASE, OPENING, CONTINUING */
  unsigned until : 3;    /* of an opening */
  unsigned tick : 3      /* the floor, the ceiling, or the last tick */
}
#define NOCALL 0
#define EXTEND 1
#define RELEASE 2
#define OPENING 3
#define CONTINUING 4
Call late;

/* As in state.pml an opening's ID is a bit of all that remember it: is. */
typedef Holding {        /* daemon/grant/holding.go: holding */
  bit op;                /* there is an opening to go on from */
  bit is;                /* the record's holder is that opening */
  bit claim;             /* opened by this process */
  bit lane;              /* there is one, and it is open */
  bit free;              /* the watched tick is above the floor, its slot not used up */
  unsigned last : 3;     /* the lane's floor, or the watched tick once that is issued */
  unsigned mark : 3;     /* the journal's */
  unsigned granted : 3   /* acknowledged */
}
typedef Entry {          /* daemon/journal/journal.go: Entry */
  bit op;
  bit is;
  unsigned mark : 3;
  unsigned granted : 3
}
Holding cur[2];
Entry jcur[2];
#define CUR cur[d]

byte watch;
bit issued;

inline clearHolding(h) {
  h.op = 0; h.is = 0; h.claim = 0; h.lane = 0; h.free = 0; h.last = 0; h.mark = 0; h.granted = 0
}
inline clearEntry(e) { e.op = 0; e.is = 0; e.mark = 0; e.granted = 0 }
inline forget() { late.kind = NOCALL; late.until = 0; late.tick = 0 }

/* The end that a claim knows: of its gap, or of time. Who is the record's holder knows
   the one that the record has. */
#define END(u) ((u) == 0 -> TICKS : (u))
#ifdef NO_GAP_END
#define ENDS TICKS
#else
#define ENDS END(rec.until)
#endif

/* A new opening: whoever remembers another one has an old one. */
inline displace() { forget(); cur[0].is = 0; cur[1].is = 0; jcur[0].is = 0; jcur[1].is = 0 }
/* An opening that continues leaves the record as it is, with the end of its interval. */
inline continued() {
#ifdef END_FORGOTTEN
  rec.until = 0;
#endif
  displace()
}

/* What a daemon does alone; see issue.pml. */
#define CEILING(h) MIN(h.granted, h.mark)
#define STANDS (CUR.lane && CUR.claim && CUR.is)

inline journal() {
  if
  :: CUR.op -> jcur[d].op = 1; jcur[d].is = CUR.is; jcur[d].mark = CUR.mark; jcur[d].granted = CUR.granted
  :: else -> clearEntry(jcur[d])
  fi
}
inline restart() {
  clearHolding(CUR); CUR.op = jcur[d].op; CUR.is = jcur[d].is; CUR.mark = jcur[d].mark; CUR.granted = jcur[d].granted
}
inline crash() {
  true -> printf("daemon %d: crashes, and starts again from its journal\n", d); restart()
}
inline openLane(at) { CUR.lane = 1; CUR.last = at; CUR.free = (at < watch) }
inline coldStart() {
  !CUR.lane && CUR.op && CUR.granted > CUR.mark ->
  printf("daemon %d: starts cold above %d, granted %d\n", d, CUR.mark, CUR.granted); openLane(CUR.mark)
}
inline renew() {
  CUR.lane && CUR.mark < CUR.granted -> CUR.mark++; journal(); printf("daemon %d: journals mark %d\n", d, CUR.mark)
}
inline issue() {
  CUR.lane && CUR.free && watch <= CEILING(CUR) ->
  printf("daemon %d: ISSUES tick %d (journal's mark %d, granted %d)\n", d, watch, CUR.mark, CUR.granted);
  CUR.free = 0; CUR.last = MAX(CUR.last, watch); assert(!issued); issued = 1
}

/*
 * What it does with the coordinator; see acquire.pml. An opening and its journaling are
 * one step. Between them the lane before issues on, which may as well come first; a
 * crash, or another opening, leaves what an opening leaves that nobody learns of.
 */

/* Any free interval that has a tick left, and any tick in it: that is where a claim's time
   is, and how wide the window. */
inline choose() {
  if
  :: rec.ceil < TICKS -> u = 0; t = rec.ceil
  :: rec.gap[0].to -> u = rec.gap[0].to; t = rec.gap[0].from
  :: rec.gap[1].to -> u = rec.gap[1].to; t = rec.gap[1].from
#if KEPT > 2
  :: rec.gap[2].to -> u = rec.gap[2].to; t = rec.gap[2].from
#endif
  fi;
  do :: t + 1 < END(u) -> t++ :: break od;
  skip
}
#define ROOM (rec.ceil < TICKS || rec.gap[0].to)

/* An opening that does not continue (pending.go: open; acquire.go: adopt). */
inline openAnew() {
  openedAt(u, t); displace();
  clearHolding(CUR); CUR.op = 1; CUR.is = 1; CUR.claim = 1; CUR.mark = t; openLane(t); journal()
}
inline giveUp(what, u0, t0) { late.kind = what; late.until = u0; late.tick = t0 }

/* A claim. Also one's own record may be opened anew. What it does not continue ends
   before the opening is sent (invariant 6). */
inline claimAnew() {
  ROOM ->
  choose();
  if
  :: d_step { true -> openAnew(); printf("daemon %d: opens the record above %d, until %d\n", d, t, u) }
  :: d_step { true -> clearHolding(CUR); giveUp(OPENING, u, t);
       printf("daemon %d: sends an opening above %d, until %d, and gives up on it\n", d, t, u) }
  fi;
  d_step { t = 0; u = 0 }
}
inline claimOwn() {
  CUR.op && CUR.is ->
  if
  :: d_step { true -> grantedTo(t); continued();
       if :: !CUR.lane -> openLane(CUR.mark) :: else fi;
       CUR.is = 1; CUR.claim = 1; CUR.granted = MIN(CUR.granted, t); journal();
       printf("daemon %d: continues, mark %d, granted %d, until %d\n", d, CUR.mark, CUR.granted, rec.until) }
  :: d_step { true -> CUR.claim = 0; giveUp(CONTINUING, 0, 0);
       printf("daemon %d: sends an opening that continues, and gives up on it\n", d) }
  fi;
  t = 0
}
/* The holder opens its record anew (reopen.go). Its lane ends when the new opening is in
   the journal, and not before. */
inline reopen() {
  STANDS && ROOM ->
  choose();
  if
#ifdef LEAP_BY_LANE
  :: d_step { true -> openedAt(u, t); forget(); CUR.granted = MAX(CUR.granted, t);
       printf("daemon %d: its lane leaps to %d, until %d\n", d, t, u) }
#else
  :: d_step { true -> openAnew(); printf("daemon %d: opens its own record anew above %d, until %d\n", d, t, u) }
  :: d_step { true -> giveUp(OPENING, u, t);
       printf("daemon %d: sends a new opening of its own record above %d, until %d, and gives up on it\n", d, t, u) }
#endif
  fi;
  d_step { t = 0; u = 0 }
}

/* Extend (held.go), as publish calls it (publish.go): never beyond the gap's end. */
inline extend() {
  STANDS && CUR.granted < ENDS ->
  t = MAX(CUR.granted + 1, CUR.mark); do :: t < ENDS -> t++ :: break od;
  if
  :: d_step { true -> extended(t); forget(); CUR.granted = t; printf("daemon %d: is granted all up to %d\n", d, t) }
  :: d_step { true -> giveUp(EXTEND, 0, t); printf("daemon %d: asks for a grant up to %d, and gives up on it\n", d, t) }
  fi;
  t = 0
}

/* A clean stop (publish.go: shut), or the end of a worker ID that was replaced (leave):
   the lane is closed; the journal has the last tick and no grant, or forgets the worker
   ID; then the record is lowered. Without the coordinator the journal keeps the grant. */
inline stop() {
  CUR.lane ->
  t = CUR.last; do :: t < CEILING(CUR) -> t++ :: break od;
  if
  :: d_step { true -> CUR.mark = t; journal(); printf("daemon %d: stops, last tick %d, without the coordinator\n", d, t); restart() }
  :: d_step { STANDS -> CUR.mark = t; CUR.granted = 0 }; stopped()
  :: d_step { STANDS -> CUR.mark = 0; CUR.granted = 0; CUR.op = 0 }; stopped()
  fi;
  t = 0
}
inline stopped() {
  if
  :: d_step { true -> journal(); lowered(t); forget(); printf("daemon %d: stops, and gives back what is above %d\n", d, t); restart() }
  :: d_step { true -> journal(); giveUp(RELEASE, 0, t);
       printf("daemon %d: stops, gives back what is above %d, and gives up on it\n", d, t); restart() }
  fi
}

/* A call that was given up lands. */
inline land() {
  late.kind != NOCALL ->
  printf("environment: a late write lands\n");
  k = late.kind; u = late.until; t = late.tick; forget();
  if
  :: k == EXTEND -> extended(t)
  :: k == RELEASE -> lowered(t)
  :: k == OPENING -> openedAt(u, t); displace()
  :: k == CONTINUING -> continued()
  fi;
  k = 0; u = 0; t = 0
}

/* As in reduce.pml: what is not the record's can at most issue the watched tick once, if its
   grant reaches that from below, and is forgotten otherwise; the daemons are alike. */
#ifdef REDUCED
#define SPENT(h) (h.mark >= watch || h.granted < watch)
inline settleDaemon(o) {
  if
  :: !cur[o].is ->
     if
     :: !(cur[o].lane -> cur[o].free && cur[o].granted >= watch : cur[o].op && !SPENT(cur[o])) -> clearHolding(cur[o])
     :: else -> cur[o].claim = 0; cur[o].last = 0; cur[o].granted = watch; cur[o].mark = (cur[o].mark < watch -> 0 : watch)
     fi
  :: else
  fi;
  if
  :: !jcur[o].is && (!jcur[o].op || SPENT(jcur[o])) -> clearEntry(jcur[o])
  :: !jcur[o].is && jcur[o].op && !SPENT(jcur[o]) -> jcur[o].mark = 0; jcur[o].granted = watch
  :: else
  fi
}
#ifndef UNORDERED
hidden int k0, k1;
hidden Holding h0;
hidden Entry e0;
#endif
inline copyHolding(to, h) {
  to.op = h.op; to.is = h.is; to.claim = h.claim; to.lane = h.lane; to.free = h.free; to.last = h.last;
  to.mark = h.mark; to.granted = h.granted
}
inline copyEntry(to, e) { to.op = e.op; to.is = e.is; to.mark = e.mark; to.granted = e.granted }
#define HELD(o) (((((((cur[o].op * 2 + cur[o].is) * 2 + cur[o].claim) * 2 + cur[o].lane) * 2 + cur[o].free) * 8 + cur[o].last) * 8 + cur[o].mark) * 8 + cur[o].granted)
#define WRITTEN(o) (((jcur[o].op * 2 + jcur[o].is) * 8 + jcur[o].mark) * 8 + jcur[o].granted)
inline settle() {
  settleDaemon(0); settleDaemon(1);
#ifndef UNORDERED
  k0 = HELD(0) * 256 + WRITTEN(0); k1 = HELD(1) * 256 + WRITTEN(1);
  if
  :: k0 > k1 ->
     copyHolding(h0, cur[0]); copyHolding(cur[0], cur[1]); copyHolding(cur[1], h0);
     copyEntry(e0, jcur[0]); copyEntry(jcur[0], jcur[1]); copyEntry(jcur[1], e0)
  :: else
  fi;
  k0 = 0; k1 = 0
#endif
}
#define EACH do :: atomic { if
#define DONE fi; d_step { settle() } } od
#else
#define EACH do
#define DONE od
#endif

proctype daemon(bit d) {
  byte t, u;
end:
  EACH
  :: d_step { crash() }
  :: d_step { coldStart() }
  :: d_step { renew() }
  :: d_step { issue() }
  :: atomic { claimAnew() }
  :: atomic { claimOwn() }
  :: atomic { reopen() }
  :: atomic { extend() }
  :: atomic { stop() }
  DONE
}
proctype environment() {
  byte t, u, k;
end:
  EACH
  :: d_step { land() }
  :: d_step { late.kind != NOCALL -> forget() }
  DONE
}
init {
  atomic {
#ifdef WATCH
    watch = WATCH;
#else
    watch = 1; do :: watch < TICKS -> watch++ :: break od; skip;
#endif
    printf("the watched tick is %d\n", watch);
    run daemon(0); run daemon(1); run environment()
  }
}
