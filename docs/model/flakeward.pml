/*
 * The fence, for spin: the record of one worker ID, and who may issue under it. README.md says what
 * is in this model and what is left out, and lists the switches, each of which breaks one rule.
 *
 * The assertion, in take, is uniqueness. One tick is watched, any of them, and it is issued once. A
 * tick is one bit: whether it reaches the watched one. The rules compare ticks and take the higher
 * (||) or the lower (&&) of two, and nothing else, so this stands for any number of ticks.
 *
 * A lane is one opening, from its first read on. A process is the lanes that it has. Each lane may
 * end alone, so a process may die at any step. There is no time, no claim and no session: anybody
 * opens the record, at any moment.
 */

#ifndef LANES
#define LANES 3          /* at once; one after the other there are any number */
#endif

#define FREE 0
#define READS 1          /* it has read the cluster record, and not the record yet */
#define OPENS 2          /* its opening is asked for */
#define SERVES 3
#define CLOSED 4         /* it gives no number any more; its release is asked for, or will be */
#define OVER 5           /* another opening came, or a raise: it serves to its ceiling, and writes nothing */

#define OPENING 1
#define EXTEND 2
#define RELEASE 3

typedef Lane {
  unsigned does : 3;
  bit floor;
  bit ceil;              /* acknowledged */
  bit used;              /* the watched tick's slot is used up */
  bit looked;            /* a thread has found the watched tick in the grant, and takes a number next */
  unsigned nonce : 4;    /* the record's, as this lane saw it last */
  unsigned asks : 4;     /* the nonce of its write that has no answer yet; 0: there is none */
  unsigned kind : 2;     /* what it asks for, */
  bit up;                /* and the ceiling that it asks for */
  unsigned refused : 2;  /* its write was: it reads the cluster record next (1), or the record (2) */
  bit now;               /* it knows the present identity */
  bit since;             /* it was opened after the last raise, or has seen it */
  bit due;               /* the lowest floor of the raises that it has not seen */
  bit anew;              /* which cluster it is of */
  bit other;             /* it saw the record in another tree, whose versions may be those of this one */
  bit copy;              /* its machine is a copy: the VM generation is another one */
  bit sure;              /* it has looked at the VM generation, and writes next */
  unsigned process : 2   /* of the host that is updated; 0: it is another host's */
}
Lane lane[LANES + 1];    /* the last one serves to exchange two */

typedef Write {          /* one under way. It may land at any moment, more than once, or never */
  unsigned nonce : 4;    /* 0: there is none */
  unsigned found : 4;    /* it lands only on the record with this nonce */
  unsigned kind : 2;
  bit up;
  bit now;               /* it was sent under the present identity */
  bit other
}
Write sent[2];

typedef Record { bit ceil; unsigned nonce : 4 } /* nonce 0: there is no record */
Record rec, old;         /* the coordinator's, and a backup's */
bit made, inRange;       /* there is a cluster, and the worker ID is in its range */
bit floor, anew;         /* the cluster's floor, and which cluster it is */
bit oldFloor, oldAnew;   /* a backup's */
bit most;                /* the highest ceiling that was ever granted */
bit saved, wiped, exported, raised, floored, usedBefore;

bit issued, shared;

#define L lane[l]
#define S sent[i]
#if LANES == 2
#define ANY(what) (what(0) || what(1))
#define EACH(what) what(0); what(1)
#else
#define ANY(what) (what(0) || what(1) || what(2))
#define EACH(what) what(0); what(1); what(2)
#endif
#define CANSEND (sent[0].nonce == 0 || sent[1].nonce == 0)

inline clear(l) {
  L.does = FREE; L.floor = 0; L.ceil = 0; L.used = 0; L.looked = 0; L.nonce = 0; L.asks = 0; L.kind = 0;
  L.up = 0; L.refused = 0; L.now = 0; L.since = 0; L.due = 0; L.anew = 0; L.other = 0; L.copy = 0;
  L.sure = 0; L.process = 0
}
inline copyLane(to, from) {
  lane[to].does = lane[from].does; lane[to].floor = lane[from].floor; lane[to].ceil = lane[from].ceil;
  lane[to].used = lane[from].used; lane[to].looked = lane[from].looked;
  lane[to].nonce = lane[from].nonce; lane[to].asks = lane[from].asks; lane[to].kind = lane[from].kind;
  lane[to].up = lane[from].up; lane[to].refused = lane[from].refused; lane[to].now = lane[from].now;
  lane[to].since = lane[from].since; lane[to].due = lane[from].due; lane[to].anew = lane[from].anew;
  lane[to].other = lane[from].other; lane[to].copy = lane[from].copy; lane[to].sure = lane[from].sure;
  lane[to].process = lane[from].process
}
inline drop(i) { S.nonce = 0; S.found = 0; S.kind = 0; S.up = 0; S.now = 0; S.other = 0 }
inline die(l) { L.does != FREE -> printf("lane %d: its process dies\n", l); clear(l) }

/* A nonce is a random name: n becomes the least number that nobody remembers. (Lines that begin with
   an @ are for run.sh, which prints a trail with names that stay.) */
#define KNOWS(l) (lane[l].nonce == n || lane[l].asks == n)
#define HAS(i) (sent[i].nonce == n || sent[i].found == n)
inline fresh() {
  n = 1;
  do :: rec.nonce == n || old.nonce == n || ANY(KNOWS) || HAS(0) || HAS(1) -> n++ :: else -> break od;
  printf("@write %d\n", n)
}

/*
 * Updates: two processes of one host. Either may be the newcomer, and both die at any step. A worker
 * ID other than this one is `spare`; the ticks of that one are not watched. None free: nobody has a
 * spare one, so the old process closes its lane and gives this one back, as it may at any time.
 */
#define DOWN 0
#define ASKS 1           /* a newcomer: it claims a worker ID, acknowledges, and touches nothing */
#define RUNS 2
#define STILL 3          /* it has sent its connections, and reads none of them */
#define GONE 4           /* it has sent COMMIT: it drains HTTP, and ends some time */
typedef Process {
  unsigned does : 3;
  bit locks;             /* it has the socket's lock */
  bit spare;
  bit acked;             /* it has acknowledged */
  bit sent;              /* COMMIT was sent to it, and is not read; the lock is in it */
  bit gave, last         /* it has given this worker ID back, above this tick (OWN_FLOOR, TOLD_FLOOR) */
}
#ifdef UPDATES
Process process[3];      /* the first is anybody else */
#define P process[p]
#define OTHER process[3 - p]
#define CLAIMS(p) (process[p].does == RUNS || process[p].does == ASKS)
#ifdef NEWCOMER_ISSUES
#define MAYISSUE(l) true
#else
#define MAYISSUE(l) (MINE(l).does != ASKS)
#endif
#else
#define MAYISSUE(l) true
#endif

/* A write is sent, and sent again where no answer comes. A process looks at its VM generation before
   each write: a copy sends none, but for one before which its original had looked. */
#if !defined(CLONES) || defined(CLONE_WRITES)
#define SURE(l, what) true
#elif defined(CLONE_GIVES_BACK)
#define SURE(l, what) (lane[l].sure || what == RELEASE)
#elif defined(CLONE_EXTENDS)
#define SURE(l, what) (lane[l].sure || what != RELEASE)
#else
#define SURE(l, what) lane[l].sure
#endif
inline looksAtGeneration(l) {
  !L.copy && !L.sure && (L.does == OPENS || L.does == SERVES || L.does == CLOSED) -> L.sure = 1;
  printf("lane %d: looks at the VM generation\n", l)
}
inline send(l) {
  if :: sent[0].nonce == 0 -> i = 0 :: else -> i = 1 fi;
  S.nonce = L.asks; S.found = L.nonce; S.kind = L.kind; S.up = L.up; S.now = L.now; S.other = L.other;
  i = 0; L.sure = 0
}
#define UNDERWAY(l) (sent[0].nonce == lane[l].asks || sent[1].nonce == lane[l].asks)
inline again(l) {
  L.asks != 0 && L.refused == 0 && !UNDERWAY(l) && CANSEND && SURE(l, L.kind) ->
  send(l); printf("lane %d: sends write %d again\n", l, L.asks)
}

/* An opening: the cluster record is read, then the record. The floor is the higher of the two. Both
   may be old when the write lands. */
#ifdef ANY_FLOOR
#define FOUND(l) 0
#elif defined(NO_CLUSTER_FLOOR)
#define FOUND(l) rec.ceil
#elif defined(OWN_FLOOR)
#define FOUND(l) (MINE(l).gave -> MINE(l).last : HIGHER(l))
#elif defined(TOLD_FLOOR)
#define FOUND(l) (lane[l].process != 0 && THEIRS(l).gave -> THEIRS(l).last : HIGHER(l))
#else
#define FOUND(l) HIGHER(l)
#endif
#define HIGHER(l) (rec.ceil || lane[l].floor)
#define MINE(l) process[lane[l].process]
#define THEIRS(l) process[3 - lane[l].process]
#ifdef OPENING_LOWERS
#define LEAST(l) 0
#else
#define LEAST(l) lane[l].floor
#endif
inline readCluster(l) { L.floor = L.floor || floor; L.now = 1; L.since = 1; L.anew = anew }
inline readRecord(l) { L.floor = FOUND(l); L.nonce = rec.nonce; L.other = 0 }
inline begin(l) {
  L.does == FREE && made && inRange -> L.does = READS;
#ifdef UPDATES
  if :: CLAIMS(1) -> L.process = 1 :: CLAIMS(2) -> L.process = 2 :: true fi;
#endif
#ifdef RECORD_FIRST
  readRecord(l);
#else
  readCluster(l);
#endif
  printf("@lane %d\n", l); printf("lane %d of process %d: begins to read\n", l, L.process)
}
inline open(l) {
  L.does == READS && made && CANSEND ->
#ifdef RECORD_FIRST
  readCluster(l);
#else
  readRecord(l);
#endif
  L.does = OPENS; fresh(); L.asks = n; n = 0; L.kind = OPENING;
  if :: L.up = 1 :: L.up = LEAST(l) fi;
  send(l);
  printf("lane %d: asks to open above %d, up to %d (write %d)\n", l, L.floor, L.up, L.asks)
}
#ifdef EXTEND_LOWERS
#define CEIL(l) 0
#else
#define CEIL(l) lane[l].ceil
#endif
inline extend(l) {
  L.does == SERVES && L.asks == 0 && CANSEND && SURE(l, EXTEND) ->
  fresh(); L.asks = n; n = 0; L.kind = EXTEND; if :: L.up = 1 :: L.up = CEIL(l) fi; send(l);
  printf("lane %d: asks for all up to %d (write %d)\n", l, L.up, L.asks)
}

/* A clean stop, a re-lease, an update: the lane is closed, its slots are read, the record is lowered.
   With a switch a closed lane goes on, that was given back, or whose release has no answer, or was not
   asked for. */
#ifdef REOPENS
#define REOPENING(l) (lane[l].kind == RELEASE && lane[l].asks == 0)
#elif defined(REOPENS_IN_DOUBT)
#define REOPENING(l) (lane[l].kind == RELEASE && lane[l].asks != 0)
#elif defined(REOPENS_UNASKED)
#define REOPENING(l) (lane[l].kind != RELEASE)
#endif
#if defined(UPDATES) && defined(REOPENING)
#define CLOSES(l) (lane[l].process != 0 && THEIRS(l).does == ASKS)
#else
#define CLOSES(l) true
#endif
inline close(l) {
  L.does == SERVES && CLOSES(l) -> L.does = CLOSED; printf("lane %d: is closed\n", l);
#ifndef CLONE_LOOKS_EARLY
  L.sure = 0
#endif
}
#ifdef LOWER_BELOW_FLOOR
#define LOWEST(l) lane[l].used
#else
#define LOWEST(l) (lane[l].floor || lane[l].used)
#endif
inline readSlots(l) {    /* the highest tick that stands in any slot */
  if :: L.up = LOWEST(l) :: L.up = (LOWEST(l) || L.ceil) fi
}
#ifdef RELEASE_BEFORE_CLOSE
#define RELEASES(l) (lane[l].does == SERVES || lane[l].does == CLOSED)
#else
#define RELEASES(l) (lane[l].does == CLOSED)
#endif
#ifdef RELEASE_IN_DOUBT
#define SETTLED(l) (lane[l].asks == 0 || (lane[l].kind == EXTEND && lane[l].refused == 0))
#else
#define SETTLED(l) (lane[l].asks == 0)
#endif
inline release(l) {
  RELEASES(l) && SETTLED(l) && CANSEND && SURE(l, RELEASE) ->
#ifdef SLOTS_BEFORE_CLOSE
  if :: L.kind == RELEASE :: else -> readSlots(l) fi;
#else
  readSlots(l);
#endif
  fresh(); L.asks = n; n = 0; L.kind = RELEASE; send(l);
#if defined(OWN_FLOOR) || defined(TOLD_FLOOR)
  if :: L.process != 0 -> process[L.process].gave = 1; process[L.process].last = L.up :: else fi;
#endif
  printf("lane %d: asks to lower the record to %d (write %d)\n", l, L.up, L.asks)
}
#ifdef SLOTS_BEFORE_CLOSE
inline readEarly(l) {
  L.does == SERVES && L.asks == 0 && L.kind == 0 -> readSlots(l); L.kind = RELEASE;
  printf("lane %d: reads its slots: %d\n", l, L.up)
}
#endif

/* Its writer learns that a write has passed. */
inline passed(l) {
  printf("lane %d: learns that write %d has passed\n", l, L.asks);
  L.nonce = L.asks; L.asks = 0; L.other = 0; L.refused = 0;
  if
  :: L.kind == OPENING -> L.does = SERVES; L.ceil = L.up; L.kind = 0; L.up = 0
  :: L.kind == EXTEND -> L.ceil = L.ceil || L.up; L.kind = 0; L.up = 0
#ifdef REOPENS
  :: L.kind == RELEASE && L.does == CLOSED -> L.up = 0 /* its kind says that it was given back */
#elif defined(REOPENS_IN_DOUBT)
  :: L.kind == RELEASE && L.does == SERVES -> L.kind = 0; L.up = 0
  :: L.kind == RELEASE && L.does == CLOSED -> clear(l)
#else
  :: L.kind == RELEASE -> clear(l)
#endif
  fi
}
#ifdef REOPENING
inline reopen(l) {
  L.does == CLOSED && REOPENING(l) -> L.does = SERVES; if :: L.asks == 0 -> L.kind = 0 :: else fi;
  printf("lane %d: goes on, though it was closed\n", l)
}
#endif
#ifdef UNKNOWN_IS_PASSED
inline assume(l) { L.asks != 0 -> passed(l) }
#endif

/* A write lands, or is refused; the answer gets to its writer, or is lost. A back-end that compares
   versions (BY_VERSION) cannot tell what was written in two trees, but for a record that is missing. */
#ifdef NO_IDENTITY
#define IDENTICAL(i) true
#else
#define IDENTICAL(i) sent[i].now
#endif
#ifdef NO_CHECK_OPENING
#define UNCHECKED(i) (sent[i].kind == OPENING)
#elif defined(NO_CHECK_EXTEND)
#define UNCHECKED(i) (sent[i].kind == EXTEND)
#elif defined(NO_CHECK_RELEASE)
#define UNCHECKED(i) (sent[i].kind == RELEASE)
#else
#define UNCHECKED(i) false
#endif
#ifdef BY_VERSION
#define CHANCE(i) (sent[i].other && sent[i].found != 0 && rec.nonce != 0)
#else
#define CHANCE(i) false
#endif
#define PASSES(i) (made && IDENTICAL(i) && (sent[i].found == rec.nonce || UNCHECKED(i)))
#define WAITS(l, i) (lane[l].asks != 0 && lane[l].asks == sent[i].nonce && lane[l].refused == 0)
inline land(i) {
  S.nonce != 0 && (PASSES(i) || (made && IDENTICAL(i) && CHANCE(i))) ->
  printf("environment: write %d lands\n", S.nonce);
  rec.ceil = S.up; rec.nonce = S.nonce; most = most || rec.ceil;
  if
  :: WAITS(0, i) -> passed(0)
  :: WAITS(1, i) -> passed(1)
#if LANES > 2
  :: WAITS(2, i) -> passed(2)
#endif
  :: true
  fi
}
inline refuse(l, i) {
  WAITS(l, i) && !PASSES(i) -> L.refused = 1;
  printf("environment: write %d of lane %d is refused\n", L.asks, l)
}
inline lose(i) { S.nonce != 0 -> printf("environment: nothing more comes of write %d\n", S.nonce); drop(i) }

/* Behind a refused write the cluster record is read, then the record. A lane that was opened before a
   raise writes nothing more: the restore before the raise may have undone an opening that came later. */
#define SAME(l) (made && lane[l].anew == anew)
#ifdef NO_CUT
#define CUT(l) skip
#else
#define CUT(l) lane[l].ceil = lane[l].ceil && floor
#endif
inline over(l) {
  if
  :: L.does == SERVES ->
     L.does = OVER; L.nonce = 0; L.asks = 0; L.kind = 0; L.up = 0; L.refused = 0; L.other = 0; L.sure = 0
  :: else -> clear(l)
  fi
}
inline readBehind(l) {
  L.refused == 1 ->
  if
#ifdef STAYS
  :: !SAME(l) -> printf("lane %d: finds no cluster, or another one\n", l); L.since = 1; over(l)
#else
  :: !SAME(l) -> printf("lane %d: finds no cluster, or another one, and ends\n", l); clear(l)
#endif
#ifndef GOES_ON
  :: SAME(l) && !L.since -> L.since = 1; CUT(l); printf("lane %d: is cut\n", l); over(l)
  :: SAME(l) && L.since -> L.now = 1; L.refused = 2; printf("lane %d: reads the cluster record\n", l)
#else
  :: SAME(l) -> L.since = 1; L.now = 1; L.refused = 2; printf("lane %d: reads the cluster record\n", l)
#endif
  fi
}
inline readThen(l) {
  L.refused == 2 ->
  if
  :: rec.nonce == L.asks -> passed(l)
#ifdef JOIN_BLIND
  :: rec.nonce != L.asks && L.does != OPENS ->
#else
  :: rec.nonce != L.asks && L.does != OPENS && rec.nonce == L.nonce -> L.other = 0;
#endif
     printf("lane %d: goes on from write %d\n", l, L.nonce); L.asks = 0; L.kind = 0; L.up = 0; L.refused = 0
  :: else -> printf("lane %d: came too late, and writes nothing more\n", l); over(l)
  fi
}

/* Issuing: a thread finds the tick in the grant, takes the slot, and looks again, at the grant and at
   the VM generation. */
#ifdef CLONE_ISSUES
#define LOOKS(l) true
#define LOOKSAGAIN(l) true
#elif defined(CLONE_LOOKS_ONCE)
#define LOOKS(l) !lane[l].copy
#define LOOKSAGAIN(l) true
#else
#define LOOKS(l) true
#define LOOKSAGAIN(l) !lane[l].copy
#endif
#ifdef LOOKS_NOT_AGAIN
#define STILLGIVES(l) true
#else
#define STILLGIVES(l) (GIVES(l) && LOOKSAGAIN(l))
#endif
#define GIVES(l) ((lane[l].does == SERVES || lane[l].does == OVER) && !lane[l].floor && lane[l].ceil)
/* A raise that does not reach above all that was granted (SHORT) has a margin: nobody issues above its
   floor before he has seen it. */
#ifdef SHORT
#define MARGIN(l) (lane[l].since || lane[l].due)
#else
#define MARGIN(l) true
#endif
inline look(l) {
  GIVES(l) && !L.used && !L.looked && LOOKS(l) -> L.looked = 1;
  printf("lane %d: a thread looks at the grant\n", l)
}
inline take(l) {
  L.looked && MARGIN(l) && MAYISSUE(l) -> L.looked = 0; L.used = 1;
  if
  :: STILLGIVES(l) -> printf("lane %d: ISSUES the watched tick\n", l); assert(!issued); issued = 1
  :: else -> printf("lane %d: throws a number away\n", l)
  fi
}

/* Operators. A floor is above all that was ever granted; with SHORT only above what was issued. */
#ifdef SHORT
#define REACH issued
#else
#define REACH most
#endif
#if defined(SHORT) && !defined(SHORT_TWICE)
#define FIRST !raised
#else
#define FIRST true
#endif
#define OUTDATED(l) lane[l].now = 0
#define BEFORE(l) lane[l].due = (floor && (lane[l].since || lane[l].due)); lane[l].since = 0
#define ELSEWHERE(l) lane[l].other = (lane[l].does != FREE)
inline rename() { EACH(OUTDATED); sent[0].now = 0; sent[1].now = 0 }
inline otherTree() {
#ifdef BY_VERSION
  EACH(ELSEWHERE); sent[0].other = (sent[0].nonce != 0); sent[1].other = (sent[1].nonce != 0)
#else
  skip
#endif
}
inline raiseTo() {
  if :: floor = 1 :: floor = floor || REACH fi; raised = 1; rename(); EACH(BEFORE);
  printf("operator: raises the cluster's floor to %d\n", floor)
}
inline raise() { made && FIRST -> raiseTo() }
inline change() { made -> rename(); printf("operator: changes the cluster record\n") }
inline backUp() {
  made -> saved = 1; old.ceil = rec.ceil; old.nonce = rec.nonce; oldFloor = floor; oldAnew = anew;
  printf("operator: backs the coordinator up\n")
}
/* What lands between a restore and the raise that must follow is not promised. */
inline putBack() {
  saved && FIRST -> printf("operator: puts the backup back\n");
  rec.ceil = old.ceil; rec.nonce = old.nonce; floor = oldFloor; anew = oldAnew; made = 1; wiped = 0;
  otherTree(); raiseTo()
}
inline wipe() {
  made && FIRST -> printf("environment: the coordinator is wiped\n");
  rec.ceil = 0; rec.nonce = 0; made = 0; wiped = 1; raised = 1; rename();
  floor = 1; EACH(BEFORE); floor = 0; /* nothing is due before the next cluster has a floor */
  otherTree()
}
#define OFTHENEXT(l) (lane[l].does > FREE && lane[l].does < OVER && lane[l].anew != anew)
inline create() {
  wiped && !ANY(OFTHENEXT) && !(saved && oldAnew != anew) -> wiped = 0; made = 1; anew = 1 - anew;
#ifdef CREATE_EMPTY
  floor = 0;
#else
  if :: floor = 1 :: floor = REACH fi;
#endif
  EACH(BEFORE); printf("operator: makes the cluster anew with the floor %d\n", floor)
}
/* A cluster moves to another coordinator: first nothing can be written at the old one any more, then
   the records are read, and they are stored at the new one as they are. */
inline readRecords() {
  made && !saved -> saved = 1; old.ceil = rec.ceil; old.nonce = rec.nonce;
  printf("operator: reads the records\n")
}
inline export() {
  made -> made = 0; exported = 1; printf("operator: exports the cluster\n");
#ifndef EXPORT_READS_FIRST
  saved = 1; old.ceil = rec.ceil; old.nonce = rec.nonce
#endif
}
inline import() {
  exported && saved -> exported = 0; saved = 0; made = 1; rec.ceil = old.ceil; rec.nonce = old.nonce;
  old.ceil = 0; old.nonce = 0; rename(); otherTree(); printf("operator: imports the cluster\n")
}
/* The range is widened by this worker ID, under which another generator has issued, which is granted
   nothing any more. The record gets a floor, then the range is changed. */
inline usesBefore(l) {
  L.does == FREE && !inRange && !floored && !usedBefore ->
  usedBefore = 1; most = 1; L.does = OVER; L.ceil = 1; L.since = 1;
  printf("@lane %d\n", l); printf("lane %d: is another generator's\n", l)
}
#ifdef WIDENS_FIRST
#define READY true
#else
#define READY floored
#endif
inline widenRecord() {
  made && !floored && rec.nonce == 0 -> floored = 1; fresh(); rec.nonce = n; n = 0;
#ifndef WIDENS_WITHOUT_FLOOR
  if :: rec.ceil = 1 :: rec.ceil = REACH fi;
#endif
  printf("operator: writes the floor %d for this worker ID\n", rec.ceil)
}
inline widenRange() {
  made && !inRange && READY -> inRange = 1; rename(); printf("operator: widens the range\n")
}

/* The machine is copied as it is. The copy takes its next step at any time: it may be a snapshot. */
inline copyMachine(l, m) {
  L.does > READS && !L.copy && lane[m].does == FREE -> copyLane(m, l); lane[m].copy = 1;
  printf("@lane %d\n", m); printf("environment: the machine of lane %d is copied: lane %d\n", l, m)
}

/* What the processes of an update do, and the second assertion: one at a time serves the connections. */
#ifdef UPDATES
inline ended(l, p) { if :: L.process == p -> clear(l) :: else fi }
inline gone(p) {
  ended(0, p); ended(1, p);
#if LANES > 2
  ended(2, p);
#endif
  P.does = DOWN; P.locks = 0; P.spare = 0; P.acked = 0; P.sent = 0; P.gave = 0; P.last = 0
}
#ifdef LOCK_NOT_HANDED
#define LOCKED (process[1].locks || process[2].locks)
#else
#define LOCKED (process[1].locks || process[2].locks || process[1].sent || process[2].sent)
#endif
inline start(p) {
  P.does == DOWN && !LOCKED -> P.does = RUNS; P.locks = 1; printf("process %d: starts\n", p)
}
inline kill(p) { P.does != DOWN -> printf("process %d: dies\n", p); gone(p) }
inline ask(p) {
  P.does == DOWN && OTHER.does == RUNS -> P.does = ASKS; printf("process %d: asks to take over\n", p)
}
inline claim(p) {
  P.does == ASKS && !P.spare -> P.spare = 1; printf("process %d: claims another worker ID\n", p)
}
#define OFNEWCOMER(l) (lane[l].does == SERVES && lane[l].process != 0 && MINE(l).does == ASKS)
inline offer(p) {
  P.does == RUNS && OTHER.does == ASKS && (OTHER.spare || ANY(OFNEWCOMER)) ->
  P.does = STILL; OTHER.acked = 0;
  printf("process %d: sends its connections, and reads them no more\n", p)
}
inline acknowledge(p) {
  P.does == ASKS && OTHER.does == STILL && !P.acked -> P.acked = 1;
  printf("process %d: acknowledges\n", p)
}
inline commit(p) {
  P.does == STILL && OTHER.does == ASKS && OTHER.acked -> OTHER.sent = 1;
  printf("process %d: sends COMMIT\n", p);
#ifndef LOCK_NOT_HANDED
  P.locks = 0;
#endif
#ifdef SENDER_GOES_ON
  P.does = RUNS
#else
  P.does = GONE
#endif
}
inline goOn(p) {
  P.does == STILL -> P.does = RUNS; printf("process %d: gives the newcomer up, and goes on\n", p)
}
inline leave(p) { P.does == ASKS && !P.sent -> printf("process %d: gives up, and exits\n", p); gone(p) }
#ifdef NEWCOMER_WITHOUT_COMMIT
#define COMMITTED(p) process[p].acked
#else
#define COMMITTED(p) process[p].sent
#endif
inline takeOver(p) {
  P.does == ASKS && COMMITTED(p) -> P.does = RUNS; P.acked = 0; P.spare = 0;
  printf("process %d: takes over\n", p);
#ifndef LOCK_NOT_HANDED
  P.locks = P.sent;
#endif
  P.sent = 0
}
inline serve() {
  process[1].does == RUNS && process[2].does == RUNS ->
  printf("process 1: serves connections that process 2 serves\n"); shared = 1; assert(!shared)
}
#endif

/*
 * Fewer states for the same question. After each step, with -DREDUCED=0,
 *  - lanes, writes and processes are put in order, and nonces are numbered in the order of their use:
 *    nobody tells two lanes apart, nor two names that nobody knows;
 * with -DREDUCED also
 *  - a write that can never land is dropped, where nobody waits for its answer;
 *  - a lane that can neither issue the watched tick nor write is ended;
 *  - a nonce is forgotten that the record has not, and cannot have again;
 * with -DREDUCED=2 also
 *  - a lane is OVER as soon as all its writes to come will be refused, before it knows.
 * What is dropped could do nothing; what is OVER issues as before. Where a switch brings to life what
 * is dead by the rules, that is kept.
 */
#if defined(NO_IDENTITY) || defined(GOES_ON)
#define RETURNS saved
#else
#define RETURNS false
#endif
#ifdef RECORD_FIRST
#define OUTDATES false
#else
#define OUTDATES true
#endif
#if defined(CLONE_ISSUES) || defined(CLONE_LOOKS_ONCE) || defined(CLONE_WRITES) || \
    defined(CLONE_GIVES_BACK) || defined(CLONE_EXTENDS)
#define PARTED false
#else
#define PARTED true
#endif
#define NOBODYS 15
#define BACKUPS 14       /* by the rules nobody who has seen it writes after the restore and its raise */
#define WAITSFOR0(l) WAITS(l, 0)
#define WAITSFOR1(l) WAITS(l, 1)
#define BACK(n) (n == rec.nonce || (RETURNS && n == old.nonce))
#define CANLAND(i) (IDENTICAL(i) && (BACK(sent[i].found) || CHANCE(i)))
inline reduceSent(i, waited) {
  if
  :: !CANLAND(i) && !waited -> drop(i)
  :: else -> if :: S.nonce != 0 && S.found != 0 && !BACK(S.found) -> S.found = NOBODYS :: else fi
  fi
}
#define IDLE(l) (lane[l].floor || !lane[l].ceil || lane[l].used || (lane[l].copy && PARTED))
#define OURS(l) (lane[l].nonce == rec.nonce || (lane[l].asks != 0 && lane[l].asks == rec.nonce))
#define BEHIND(l) (!lane[l].since || !OURS(l))
inline reduceLane(l) {
  if
#if REDUCED > 1
  :: L.does > READS && L.does < OVER && BEHIND(l) -> over(l)
#endif
  :: L.does == READS && !L.now && OUTDATES -> clear(l)
  :: L.does > READS && L.copy && !L.sure && PARTED -> clear(l)
  :: L.does == OVER && IDLE(l) -> clear(l)
  :: else
  fi;
  if :: L.does >= OPENS && L.does <= CLOSED && L.nonce != 0 && !BACK(L.nonce) -> L.nonce = NOBODYS :: else fi;
  if :: L.floor -> L.used = 0; L.looked = 0 :: else fi;
#ifndef SHORT
  L.due = 0; if :: L.does == OVER -> L.since = 0 :: else fi;
#endif
  if :: L.does == OVER -> L.now = 0; L.anew = 0; L.process = 0 :: else fi
}
#define B(key, it) ((key) * 2 + (it))
#define SKEY(i) B(B(B(sent[i].kind, sent[i].up), sent[i].now), sent[i].other)
#define SENDKEY(i) B(SKEY(i), sent[i].found == rec.nonce)
#define KEY1(l) B(B(B(B(lane[l].does, lane[l].floor), lane[l].ceil), lane[l].used), lane[l].looked)
#define KEY2(l) (((KEY1(l) * 4 + lane[l].kind) * 4 + lane[l].refused) * 4 + lane[l].process)
#define KEY3(l) B(B(B(B(KEY2(l), lane[l].up), lane[l].now), lane[l].since), lane[l].due)
#define KEY4(l) B(B(B(B(KEY3(l), lane[l].anew), lane[l].copy), lane[l].sure), lane[l].other)
#define KEY5(l) B(B(KEY4(l), lane[l].nonce == rec.nonce), lane[l].asks == rec.nonce)
#define KEY(l) B(B(KEY5(l), lane[l].asks == sent[0].nonce), lane[l].asks == sent[1].nonce)
inline order(a, b) {
  if
  :: KEY(a) > KEY(b) ->
     copyLane(LANES, a); copyLane(a, b); copyLane(b, LANES); clear(LANES); printf("@swap lane %d %d\n", a, b)
  :: else
  fi
}
#define EXCHANGE(a, b) n = a; a = b; b = n
inline orderSent() {
  if
  :: SENDKEY(0) > SENDKEY(1) ->
     EXCHANGE(sent[0].nonce, sent[1].nonce); EXCHANGE(sent[0].found, sent[1].found);
     EXCHANGE(sent[0].kind, sent[1].kind); EXCHANGE(sent[0].up, sent[1].up);
     EXCHANGE(sent[0].now, sent[1].now); EXCHANGE(sent[0].other, sent[1].other)
  :: else
  fi
}
#ifdef UPDATES
#define PKEY(p) B(B(B(process[p].does, process[p].spare), process[p].acked), process[p].sent)
#define PROCESSKEY(p) B(B(PKEY(p), process[p].gave), process[p].last)
inline otherProcess(l) { if :: L.process != 0 -> L.process = 3 - L.process :: else fi }
inline orderProcesses() {
  if
  :: PROCESSKEY(1) > PROCESSKEY(2) ->
     EXCHANGE(process[1].does, process[2].does); EXCHANGE(process[1].locks, process[2].locks);
     EXCHANGE(process[1].spare, process[2].spare); EXCHANGE(process[1].acked, process[2].acked);
     EXCHANGE(process[1].sent, process[2].sent); EXCHANGE(process[1].gave, process[2].gave);
     EXCHANGE(process[1].last, process[2].last); EACH(otherProcess);
     printf("@swap process 1 2\n")
  :: else
  fi
}
#endif
#define NUMBER(it) n = it; number(); it = n
inline number() {
  if
  :: n == 0 || n >= BACKUPS
  :: else -> if :: map[n] == 0 -> k++; map[n] = k :: else fi; printf("@number %d %d\n", n, map[n]); n = map[n]
  fi
}
inline numberLane(l) { NUMBER(L.nonce); NUMBER(L.asks) }
inline numberSent(i) { NUMBER(S.nonce); NUMBER(S.found) }
inline settle() {
#if defined(RESTORES) && REDUCED > 0 && !defined(NO_IDENTITY) && !defined(GOES_ON)
  if :: rec.nonce == BACKUPS -> fresh(); rec.nonce = n :: else fi;
  if :: saved && old.nonce != 0 -> old.nonce = BACKUPS :: else fi;
#endif
#if REDUCED > 0
  EACH(reduceLane); reduceSent(0, ANY(WAITSFOR0)); reduceSent(1, ANY(WAITSFOR1));
#endif
#ifdef UPDATES
  orderProcesses();
#endif
  orderSent(); order(0, 1);
#if LANES > 2
  order(1, 2); order(0, 1);
#endif
  NUMBER(rec.nonce); NUMBER(old.nonce); numberSent(0); numberSent(1); EACH(numberLane);
  k = 0; n = 0; do :: n < BACKUPS -> map[n] = 0; n++ :: else -> break od; n = 0
}

#define LANE(l) \
  :: atomic { begin(l) } :: atomic { open(l) } :: atomic { extend(l) } :: d_step { close(l) } \
  :: atomic { release(l) } :: d_step { again(l) } :: d_step { refuse(l, 0) } :: d_step { refuse(l, 1) } \
  :: d_step { readBehind(l) } :: d_step { readThen(l) } :: d_step { look(l) } :: d_step { take(l) } \
  :: d_step { die(l) }
#define PROCESS(p) \
  :: d_step { start(p) } :: d_step { kill(p) } :: d_step { ask(p) } :: d_step { claim(p) } \
  :: d_step { offer(p) } :: d_step { acknowledge(p) } :: d_step { commit(p) } :: d_step { goOn(p) } \
  :: d_step { leave(p) } :: d_step { takeOver(p) }

active proctype all() {
  byte i, n, k, map[16];
  made = 1;
#ifndef RANGES
  inRange = 1;
#endif
end:
  do
  :: atomic {
  if
  LANE(0)
  LANE(1)
#if LANES > 2
  LANE(2)
#endif
  :: atomic { land(0) } :: atomic { land(1) } :: d_step { lose(0) } :: d_step { lose(1) }
#ifdef CHANGES
  :: d_step { change() }
#endif
#ifdef RAISES
  :: atomic { raise() }
#endif
#ifdef RESTORES
  :: d_step { backUp() } :: atomic { putBack() }
#endif
#ifdef WIPES
  :: d_step { wipe() } :: atomic { create() }
#endif
#ifdef MOVES
  :: d_step { export() } :: d_step { import() }
#ifdef EXPORT_READS_FIRST
  :: d_step { readRecords() }
#endif
#endif
#ifdef RANGES
  :: d_step { usesBefore(0) } :: atomic { widenRecord() } :: d_step { widenRange() }
#endif
#ifdef CLONES
  :: d_step { looksAtGeneration(0) } :: d_step { looksAtGeneration(1) }
  :: d_step { copyMachine(0, 1) } :: d_step { copyMachine(1, 0) }
#if LANES > 2
  :: d_step { looksAtGeneration(2) } :: d_step { copyMachine(0, 2) } :: d_step { copyMachine(1, 2) }
  :: d_step { copyMachine(2, 0) } :: d_step { copyMachine(2, 1) }
#endif
#endif
#ifdef UPDATES
  PROCESS(1)
  PROCESS(2)
#ifndef UNIQUE_ONLY
  :: d_step { serve() }
#endif
#endif
#ifdef REOPENING
  :: d_step { reopen(0) } :: d_step { reopen(1) }
#if LANES > 2
  :: d_step { reopen(2) }
#endif
#endif
#ifdef UNKNOWN_IS_PASSED
  :: d_step { assume(0) } :: d_step { assume(1) }
#endif
#ifdef SLOTS_BEFORE_CLOSE
  :: atomic { readEarly(0) } :: atomic { readEarly(1) }
#endif
  fi;
#ifdef REDUCED
  d_step { settle() }
#endif
  }
  od
}
