/*
 * Takeovers: one process goes on in another's place, on the same state directory. A model of its own,
 * for spin: one host with its journal and lock, three processes on it, of which any may start, ask
 * and die at any moment, and another host, which opens the record at any moment.
 *
 * The assertion, in issue, is uniqueness, as in flakeward.pml: one tick is watched, any of them, and
 * it is issued once. There is no time: each side gives the other up, or takes a step, whenever it
 * likes, and COMMIT is read long after it was sent, or never. Lost replies, late writes and clones
 * are in flakeward.pml: the journal and the record are single steps here. The rules are on unless a
 * switch (-DNAME) breaks one; README.md lists them.
 */

#ifndef TICKS
#define TICKS 3
#endif
#define PROCESSES 3
#define NOBODY 3
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

#define DOWN 0
#define ASKS 1           /* a newcomer that has nothing but the journal, which it has read */
#define RUNS 2
#define STILL 3          /* it is taken over: its lane is closed; it writes and calls nothing */
#define GONE 4           /* it has sent COMMIT, and ends some time */

typedef Process {
  unsigned does : 3;
  unsigned with : 2;     /* whom it asks, or who asks it */
  bit locks;             /* it has the lock, perhaps beside another one */
  bit lane;              /* there is one, and it is open */
  bit free;              /* the watched tick is above the lane's floor, its slot not used up */
  bit is;                /* the record's holder is its opening */
  unsigned last : 3;     /* the lane's floor, or the watched tick once that is issued */
  unsigned mark : 3;     /* the journal's */
  unsigned granted : 3;
  bit sent;              /* COMMIT has been sent to it, and is not read; the lock is in it */
  unsigned above : 3     /* the last tick that was issued, as COMMIT says */
}
Process p[PROCESSES];
#define ME p[d]
#define CEILING(o) MIN(p[o].granted, p[o].mark)

bit jis;                 /* the record's holder is the journal's opening */
unsigned jmark : 3;
unsigned jgranted : 3;

unsigned ceil : 3;       /* the record's */
bit rival, rivalFree;    /* the other host is its holder; the watched tick is in its lane */

byte watch;
bit issued;

#define HASLOCK(o) (p[o].locks || p[o].sent)
#ifdef LOCK_NOT_HANDED
#define LOCKED (p[0].locks || p[1].locks || p[2].locks)
#else
#define LOCKED (HASLOCK(0) || HASLOCK(1) || HASLOCK(2))
#endif

/* Whoever remembers another opening has an old one. */
inline displace() { p[0].is = 0; p[1].is = 0; p[2].is = 0; jis = 0; rival = 0 }
inline clear(o) {
  p[o].does = DOWN; p[o].with = NOBODY; p[o].locks = 0; p[o].lane = 0; p[o].free = 0; p[o].is = 0; p[o].last = 0;
  p[o].mark = 0; p[o].granted = 0; p[o].sent = 0; p[o].above = 0
}
inline journal() { jis = ME.is; jmark = ME.mark; jgranted = ME.granted }
inline inherit() { ME.is = jis; ME.mark = jmark; ME.granted = jgranted }
inline openLane(at) { ME.lane = 1; ME.last = at; ME.free = (at < watch) }
inline closeLane() { ME.lane = 0; ME.free = 0 }

inline issue() {
  (ME.does == RUNS || ME.does == STILL || ME.does == GONE) && ME.lane && ME.free && watch <= CEILING(d) ->
  printf("daemon %d: ISSUES tick %d (journal's mark %d, granted %d)\n", d, watch, ME.mark, ME.granted);
  ME.free = 0; ME.last = MAX(ME.last, watch); assert(!issued); issued = 1
}

/* A start without anybody to ask; a cold start; what a daemon does alone, and with the coordinator. */
inline start() {
  ME.does == DOWN && !LOCKED -> ME.does = RUNS; ME.locks = 1; inherit();
  printf("daemon %d: starts from its journal\n", d)
}
inline die() { ME.does != DOWN -> printf("daemon %d: dies\n", d); clear(d) }
#define ACTS (ME.does == RUNS)
inline coldStart() {
  ACTS && !ME.lane && ME.granted > ME.mark -> openLane(ME.mark); printf("daemon %d: starts cold above %d\n", d, ME.mark)
}
#ifdef SENDER_WRITES
#define WRITES (ACTS || ME.does == GONE)
#else
#define WRITES ACTS
#endif
inline renew() {
  WRITES && (ME.lane || ME.does != RUNS) && ME.mark < ME.granted ->
  ME.mark++; journal(); printf("daemon %d: journals mark %d\n", d, ME.mark)
}
inline claim() {
  ACTS ->
  if
  :: ME.is -> displace(); ME.is = 1; printf("daemon %d: opens the record, and continues\n", d);
     if :: !ME.lane -> openLane(ME.mark) :: else fi
  :: !ME.is -> displace(); ME.is = 1; ME.mark = ceil; ME.granted = ceil; openLane(ceil);
     printf("daemon %d: opens the record above %d\n", d, ceil)
  fi;
  journal()
}
inline extend() {
  ACTS && ME.is && ME.lane && ME.granted < TICKS ->
  ceil = TICKS; ME.granted = TICKS; journal(); printf("daemon %d: is granted all up to %d\n", d, TICKS)
}
/* A clean stop: the lane is closed, then the journal is written, then the record is lowered. */
inline stop() {
  ACTS && ME.is && ME.lane -> lower(); printf("daemon %d: stops, and gives back what is above %d\n", d, jmark); clear(d)
}
inline lower() {
  t = ME.last; do :: t < CEILING(d) -> t++ :: break od;
  closeLane(); ME.mark = t; ME.granted = 0; journal(); ceil = t; t = 0
}
#ifdef SENDER_RELEASES
inline release() { ME.does == GONE && ME.is -> ceil = MIN(ceil, ME.last); printf("daemon %d: gives its grant back\n", d); ME.is = 0 }
#endif

/* A newcomer asks one that runs and is not asked. Two may ask two, where there are two. */
inline ask(o) {
  ME.does == DOWN && o != d && p[o].does == RUNS && p[o].with == NOBODY ->
  ME.does = ASKS; ME.with = o; p[o].with = d; inherit(); printf("daemon %d: asks daemon %d\n", d, o)
}
/* It gives up; so does who was asked by one that is gone. */
inline leave() {
  ME.does == ASKS && !ME.sent -> printf("daemon %d: gives up\n", d);
#ifdef NEWCOMER_WITHOUT_COMMIT
  ME.does = RUNS; ME.with = NOBODY
#else
  clear(d)
#endif
}
inline forgotten() {
  ACTS && ME.with != NOBODY && !(p[ME.with].does == ASKS && p[ME.with].with == d) -> ME.with = NOBODY
}

/* daemon/handover.go: handOver. What runs beside the lane ends, then the lane is closed. */
inline freeze() {
  ACTS && ME.with != NOBODY -> ME.does = STILL; printf("daemon %d: stands still\n", d);
  if
  :: ME.lane ->
     t = ME.last; do :: t < CEILING(d) -> t++ :: break od;
#ifdef LANE_LEFT_OPEN
     ME.above = ME.last;
#else
     closeLane(); ME.last = t; ME.above = t;
#endif
     t = 0
  :: else -> ME.above = MAX(ME.mark, ME.last)   /* no lane, so nothing above the mark */
  fi
}
/* Once it is sent, it decides, whether anybody reads it or not. */
inline send() {
  ME.does == STILL && p[ME.with].does == ASKS && p[ME.with].with == d ->
  o = ME.with; p[o].sent = 1; p[o].above = ME.above; printf("daemon %d: sends COMMIT above %d\n", d, ME.above);
#ifdef HANDED_SHORT
  if :: ME.above > 0 -> p[o].above = ME.above - 1 :: else fi;
#endif
  o = 0;
#ifdef SENDER_GOES_ON
  again()
#else
  ME.does = GONE; ME.with = NOBODY
#endif
}
/* Before it is sent, the newcomer may be given up. */
inline goOn() { ME.does == STILL -> printf("daemon %d: gives the newcomer up, and goes on\n", d); again() }
inline again() {
  ME.does = RUNS; ME.with = NOBODY; inherit();
#ifdef GOES_ON_FROM_THE_FLOOR
  openLane(0);
#else
  if :: ME.granted > ME.above -> openLane(ME.above) :: else -> closeLane() fi;
#endif
  ME.above = 0
}
inline take() {
  ME.does == ASKS && ME.sent -> printf("daemon %d: takes over above %d\n", d, ME.above);
  ME.does = RUNS; ME.with = NOBODY; ME.sent = 0;
#ifndef LOCK_NOT_HANDED
  ME.locks = 1;
#endif
#ifndef JOURNAL_READ_EARLY
  inherit();
#endif
  if :: ME.granted > ME.above && ME.above <= ME.mark -> openLane(ME.above) :: else fi;
  ME.above = 0
}

proctype daemon(byte d) {
  byte t, o;
end:
  do
  :: d_step { start() }
  :: d_step { die() }
  :: d_step { coldStart() }
  :: d_step { issue() }
  :: d_step { renew() }
  :: d_step { claim() }
  :: d_step { extend() }
  :: atomic { stop() }
  :: d_step { ask(0) }
  :: d_step { ask(1) }
  :: d_step { ask(2) }
  :: d_step { leave() }
  :: d_step { forgotten() }
  :: atomic { freeze() }
  :: d_step { send() }
  :: d_step { goOn() }
  :: d_step { take() }
#ifdef SENDER_RELEASES
  :: d_step { release() }
#endif
  od
}

/* The other host. It opens above the ceiling, and its grant never ends. */
proctype environment() {
end:
  do
  :: d_step { ceil < TICKS -> displace(); rival = 1; rivalFree = (ceil < watch); printf("environment: another host opens the record above %d\n", ceil); ceil = TICKS }
  :: d_step { rivalFree -> printf("environment: ISSUES tick %d\n", watch); rivalFree = 0; assert(!issued); issued = 1 }
  od
}

init {
  atomic {
    watch = 1; do :: watch < TICKS -> watch++ :: break od;
    clear(0); clear(1); clear(2);
    printf("the watched tick is %d\n", watch);
    run daemon(0); run daemon(1); run daemon(2); run environment()
  }
}
