/*
 * The fence: one record, and who may issue under it. A model of its own, for spin: one worker ID,
 * two hosts, each with the lane of its newest opening and an older one that serves on; writes that
 * land late, again, or never; replies that are lost; processes that die at any moment; and what
 * operators do to the cluster record: a raise, another setting, a backup that is put back, a tree
 * that is wiped and a cluster that is made anew.
 *
 * This is the protocol of the next version, in which a host keeps nothing: a record is written only
 * if it is what its writer saw last, under the cluster's present identity, a random name that each
 * change of the cluster record changes. A coordinator compares the record's nonce, or (BY_VERSION)
 * its version, which begins anew in a tree that is made anew.
 *
 * A lane that was opened before a raise extends no more, also where the record has its last write:
 * the restore before the raise may have undone an opening that came after it, which issued ticks that
 * the lane would be granted again (GOES_ON). With that rule, reading the record under a new identity
 * is not needed for uniqueness (JOIN_BLIND). What lands between a restore and its raise is not in
 * the model: it is not promised.
 *
 * The assertion, in take, is uniqueness: one tick is watched, any of them, and it is issued once.
 * There is no time, no claim and no session. The rules are on unless a switch (-DNAME) breaks one:
 *
 *   ANY_FLOOR             a lane begins at 0, whatever its opening found
 *   FENCE_OPENING_LOWERS  an opening writes a ceiling below the one that it found
 *   NO_CHECK_OPENING      an opening passes whatever was written since it read; so NO_CHECK_EXTEND
 *                         and NO_CHECK_RELEASE
 *   RELEASE_BEFORE_CLOSE  the record is lowered, then the lane closed
 *   LOWER_BELOW_FLOOR     a release lowers to the highest tick issued, and that is none
 *   UNKNOWN_IS_PASSED     a write without an answer counts as done
 *   LOOKS_NOT_AGAIN       a number taken after the lane was closed or cut is given
 *   NO_CLUSTER_FLOOR      an opening goes by the record alone
 *   NO_IDENTITY           a write passes under another identity
 *   JOIN_BLIND            whoever takes up another identity does not read the record
 *   GOES_ON               a lane of before a raise extends
 *   NO_CUT                a lane of before a raise is not cut at its floor
 *   CREATE_EMPTY          a cluster that is made anew has no floor
 *   STAYS                 a process that finds no cluster, or another one, serves on
 */

#ifndef TICKS
#define TICKS 2
#endif
#ifndef WRITES
#define WRITES 4         /* that are ever asked for, each with a nonce of its own */
#endif
#define NONE 7           /* a cap that is none */
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

#define FREE 0
#define OPENS 1          /* its opening is asked for */
#define SERVES 2
#define CLOSED 3         /* no number is given any more; its release is asked for, or will be */
#define OVER 4           /* another opening came: it serves to its ceiling, and writes nothing */

typedef Lane {
  unsigned does : 3;
  unsigned floor : 3;
  unsigned ceil : 3;     /* acknowledged */
  unsigned cap : 3;      /* where a raise has cut it */
  unsigned nonce : 4;    /* of the last write that was acknowledged, and the version that it made */
  unsigned version : 3;
  unsigned asks : 4;     /* the nonce of the write that has no answer yet; 0 is none */
  unsigned ceiling : 3;  /* that it asks for */
  bit refused;           /* the write was refused: the record is read behind it */
  bit looked;            /* a thread has found the watched tick to be in the grant */
  bit used               /* the watched tick's slot is used up */
}
Lane lane[4];            /* host h has 2h, its newest, and 2h+1 */

typedef Write {          /* one under way. It may land at any moment, as often as it likes */
  unsigned nonce : 4;    /* 0: there is none */
  unsigned found : 4;    /* the nonce in the record that its writer saw last, and its version */
  unsigned version : 3;
  unsigned ident : 3;
  unsigned ceil : 3;
  unsigned does : 3      /* its lane, when it asked */
}
Write sent[2];

typedef Record { unsigned ceil : 3; unsigned nonce : 4; unsigned version : 3 } /* nonce 0: none */
Record rec, old;         /* the coordinator's, and the backup's */

/* The cluster record: the random name that each change of it changes, 0 where there is no cluster;
   the floor, the raise that set it, and whether the cluster is the first or one made anew. */
typedef Cluster { unsigned ident : 3; unsigned floor : 3; unsigned by : 3; bit anew }
Cluster cluster, oldCluster;
Cluster known[2];        /* what each host knows of it */

unsigned writes : 4;     /* asked for so far */
unsigned idents : 3;     /* given so far */
unsigned most : 3;       /* the highest ceiling that was ever written */
bit saved, restored, wiped, raised, changed;

byte watch;
bit issued;

#define L lane[l]
#define S sent[i]

inline clearLane(x) {
  lane[x].does = FREE; lane[x].floor = 0; lane[x].ceil = 0; lane[x].cap = 0;
  lane[x].nonce = 0; lane[x].version = 0; lane[x].asks = 0; lane[x].ceiling = 0;
  lane[x].refused = 0; lane[x].looked = 0; lane[x].used = 0
}
inline clearWrite(x) {
  sent[x].nonce = 0; sent[x].found = 0; sent[x].version = 0; sent[x].ident = 0;
  sent[x].ceil = 0; sent[x].does = 0
}
inline forget(h) { known[h].ident = 0; known[h].by = 0; known[h].anew = 0 }
inline die(h) {
  lane[2*h].does != FREE || lane[2*h+1].does != FREE -> printf("host %d: its process dies\n", h);
  clearLane(2*h); clearLane(2*h+1); forget(h)
}

/* A process learns of the cluster record: lanes that were opened before a raise are cut at it. */
#ifdef NO_CUT
#define CUT(x) skip
#else
#define CUT(x) lane[x].cap = MIN(lane[x].cap, cluster.floor); \
  lane[x].ceil = MIN(lane[x].ceil, lane[x].cap)
#endif
inline know(h) {
  known[h].ident = cluster.ident; known[h].by = cluster.by; known[h].anew = cluster.anew
}
inline learn(h) {
  if
  :: known[h].ident != 0 && known[h].by != cluster.by -> CUT(2*h); CUT(2*h+1)
  :: else
  fi;
  know(h)
}

/* Asking for a write: of the lane l, which is host h's newest. */
inline send(h, l) {
  if :: sent[0].nonce == 0 -> i = 0 :: else -> i = 1 fi;
  S.nonce = L.asks; S.found = L.nonce; S.version = L.version; S.ident = known[h].ident;
  S.ceil = L.ceiling; S.does = L.does;
  i = 0
}
#define CANSEND (sent[0].nonce == 0 || sent[1].nonce == 0)
#define CANASK (CANSEND && writes < WRITES)
#define NEWNONCE writes++; L.asks = writes

/* An opening: its floor is the ceiling that it found, and the cluster's. */
#ifdef ANY_FLOOR
#define OPENINGFLOOR 0
#elif defined(NO_CLUSTER_FLOOR)
#define OPENINGFLOOR rec.ceil
#else
#define OPENINGFLOOR MAX(rec.ceil, cluster.floor)
#endif
#ifdef FENCE_OPENING_LOWERS
#define LEAST 1
#else
#define LEAST L.floor + 1
#endif
inline open(h, l) {
  CANASK && cluster.ident != 0 && (known[h].ident == 0 || known[h].anew == cluster.anew) &&
  ((L.does == FREE) || (L.does == OVER && lane[l+1].does == FREE)) ->
  learn(h);
  if
  :: L.does == OVER ->
     lane[l+1].does = OVER; lane[l+1].floor = L.floor; lane[l+1].ceil = L.ceil;
     lane[l+1].cap = L.cap; lane[l+1].looked = L.looked; lane[l+1].used = L.used; clearLane(l)
  :: else
  fi;
  L.floor = OPENINGFLOOR; L.cap = NONE; L.nonce = rec.nonce; L.version = rec.version;
  t = LEAST; do :: t < TICKS -> t++ :: break od;
  if
  :: t <= TICKS -> L.does = OPENS; NEWNONCE; L.ceiling = t; send(h, l);
     printf("host %d: asks to open above %d, up to %d (write %d)\n", h, L.floor, t, L.asks)
  :: else -> clearLane(l)
  fi;
  t = 0
}
inline extend(h, l) {
  CANASK && L.does == SERVES && L.asks == 0 && L.ceil < MIN(TICKS, L.cap) ->
  t = L.ceil + 1; do :: t < MIN(TICKS, L.cap) -> t++ :: break od;
  NEWNONCE; L.ceiling = t; send(h, l); t = 0;
  printf("host %d: asks for all up to %d (write %d)\n", h, L.ceiling, L.asks)
}
/* A clean stop, and a re-lease: the lane is closed, its slots are read, the record is lowered. */
#ifdef RELEASE_BEFORE_CLOSE
#define RELEASES (L.does == SERVES || L.does == CLOSED)
#else
#define RELEASES (L.does == CLOSED)
#endif
#ifdef LOWER_BELOW_FLOOR
#define LOWEST 0
#else
#define LOWEST L.floor
#endif
inline close(h, l) {
  L.does == SERVES && L.asks == 0 -> L.does = CLOSED; printf("host %d: closes its lane\n", h)
}
inline release(h, l) {
  CANASK && RELEASES && L.asks == 0 ->
  NEWNONCE; L.ceiling = MAX(LOWEST, (L.used -> watch : 0)); send(h, l);
  printf("host %d: asks to lower the record to %d (write %d)\n", h, L.ceiling, L.asks)
}
/* No answer: the same write again. */
inline again(h, l) {
  CANSEND && L.asks != 0 && !L.refused && sent[0].nonce != L.asks && sent[1].nonce != L.asks ->
  send(h, l); printf("host %d: sends write %d again\n", h, L.asks)
}
inline passed(h, l, version_) {
  L.nonce = L.asks; L.version = version_; L.asks = 0; L.refused = 0;
  if
  :: L.does == OPENS -> L.does = SERVES; L.ceil = MIN(L.ceiling, L.cap); L.ceiling = 0
#ifdef RELEASE_BEFORE_CLOSE
  :: L.does == SERVES && L.ceiling <= L.ceil -> L.does = CLOSED; L.asks = 0; clearLane(l)
#endif
  :: L.does == SERVES && L.ceiling > L.ceil -> L.ceil = MIN(L.ceiling, L.cap); L.ceiling = 0
  :: L.does == SERVES && L.ceiling <= L.ceil -> L.ceiling = 0
  :: L.does == CLOSED -> clearLane(l)
  :: else
  fi
}
#ifdef UNKNOWN_IS_PASSED
inline assume(h, l) {
  L.asks != 0 && !L.refused -> printf("host %d: takes write %d as done\n", h, L.asks);
  passed(h, l, L.version + 1)
}
#endif

/* A write lands. Its answer gets to its writer, or is lost. */
#ifdef NO_IDENTITY
#define IDENTICAL true
#else
#define IDENTICAL (S.ident == cluster.ident)
#endif
#ifdef BY_VERSION
#define SEENLAST (S.version == rec.version)
#else
#define SEENLAST (S.found == rec.nonce)
#endif
#ifdef NO_CHECK_OPENING
#define CHECKED (SEENLAST || S.does == OPENS)
#elif defined(NO_CHECK_EXTEND)
#define CHECKED (SEENLAST || S.does == SERVES)
#elif defined(NO_CHECK_RELEASE)
#define CHECKED (SEENLAST || S.does == CLOSED)
#else
#define CHECKED SEENLAST
#endif
inline land(i) {
  S.nonce != 0 ->
  if
  :: IDENTICAL && CHECKED ->
     printf("environment: write %d lands\n", S.nonce);
     rec.ceil = S.ceil; rec.nonce = S.nonce; rec.version++; most = MAX(most, rec.ceil);
     if
     :: lane[0].asks == S.nonce -> passed(0, 0, rec.version)
     :: lane[2].asks == S.nonce -> passed(1, 2, rec.version)
     :: true
     fi
  :: else ->
     if
     :: lane[0].asks == S.nonce && !lane[0].refused -> lane[0].refused = 1
     :: lane[2].asks == S.nonce && !lane[2].refused -> lane[2].refused = 1
     :: true
     fi;
     printf("environment: write %d is refused\n", S.nonce)
  fi
}
inline lose(i) {
  S.nonce != 0 -> printf("environment: nothing more comes of write %d\n", S.nonce); clearWrite(i)
}

/* The record, and the cluster's, read behind a refused write. An opening of before a raise writes
   nothing more: the restore before the raise may have undone one that came after it. */
#ifdef GOES_ON
#define RAISED(h) false
#else
#define RAISED(h) (known[h].by != cluster.by)
#endif
inline over(h, l) {
  printf("host %d: write %d came too late\n", h, L.asks);
  if
  :: L.does == SERVES -> L.does = OVER; L.asks = 0; L.ceiling = 0; L.nonce = 0; L.version = 0
  :: else -> clearLane(l)
  fi
}
inline read(h, l) {
  L.refused ->
  L.refused = 0;
  if
#ifdef STAYS
  :: cluster.ident == 0 || known[h].anew != cluster.anew -> over(h, l); know(h)
#else
  :: cluster.ident == 0 || known[h].anew != cluster.anew ->
     printf("host %d: finds no cluster, or another one, and ends\n", h);
     clearLane(2*h); clearLane(2*h+1); forget(h)
#endif
  :: else ->
     if
     :: RAISED(h) -> learn(h); over(h, l)
     :: !RAISED(h) && rec.nonce == L.asks -> learn(h);
        printf("host %d: finds that write %d has passed\n", h, L.asks); passed(h, l, rec.version)
#ifdef JOIN_BLIND
     :: !RAISED(h) && rec.nonce != L.asks && L.does != OPENS -> learn(h);
#else
     :: !RAISED(h) && rec.nonce != L.asks && rec.nonce == L.nonce && L.does != OPENS ->
        learn(h); L.version = rec.version;
#endif
        printf("host %d: goes on from write %d\n", h, L.nonce); L.asks = 0; L.ceiling = 0
     :: else -> learn(h); over(h, l)
     fi
  fi
}

/* Issuing: a thread finds the tick in the grant, takes the slot, and looks again. A raise that does
   not reach above all grants has a margin: nobody issues above its floor before he has seen it. */
#ifdef SHORT
#define PASSED(h) (cluster.ident == 0 || known[h].by == cluster.by || watch <= cluster.floor)
#else
#define PASSED(h) true
#endif
#define GIVES(x) (lane[x].does == SERVES || lane[x].does == OVER)
#define GRANTED(x) (watch > lane[x].floor && watch <= lane[x].ceil)
inline look(x) { GIVES(x) && GRANTED(x) && !lane[x].used && !lane[x].looked -> lane[x].looked = 1 }
inline take(h, x) {
  lane[x].looked && PASSED(h) ->
  lane[x].looked = 0; lane[x].used = 1;
  if
#ifdef LOOKS_NOT_AGAIN
  :: true ->
#else
  :: GIVES(x) && GRANTED(x) ->
#endif
     printf("host %d: ISSUES tick %d (floor %d, ceiling %d)\n", h, watch, lane[x].floor,
       lane[x].ceil);
     assert(!issued); issued = 1
  :: else
  fi
}

/* Operators. A floor is above all that was ever granted; with SHORT only above what was issued. */
#ifdef SHORT
#define REACH (issued -> watch : 0)
#else
#define REACH most
#endif
inline rename() { idents++; cluster.ident = idents }
inline raiseTo() {
  t = MAX(cluster.floor, REACH); do :: t < TICKS -> t++ :: break od;
  rename(); cluster.floor = t; cluster.by = cluster.ident;
  printf("operator: raises the cluster's floor to %d\n", t); t = 0
}
inline raise() { cluster.ident != 0 && !raised -> raised = 1; raiseTo() }
inline change() {
  cluster.ident != 0 && !changed -> changed = 1; rename();
  printf("operator: changes the cluster record\n")
}
inline backUp() {
  !saved && cluster.ident != 0 -> saved = 1; printf("operator: backs the coordinator up\n");
  old.ceil = rec.ceil; old.nonce = rec.nonce; old.version = rec.version;
  oldCluster.ident = cluster.ident; oldCluster.floor = cluster.floor;
  oldCluster.by = cluster.by; oldCluster.anew = cluster.anew
}
/* What lands before the raise that must follow is not promised. */
inline putBack() {
  saved && !restored -> restored = 1; printf("operator: puts the backup back\n");
  rec.ceil = old.ceil; rec.nonce = old.nonce; rec.version = old.version;
  cluster.ident = oldCluster.ident; cluster.floor = oldCluster.floor;
  cluster.by = oldCluster.by; cluster.anew = oldCluster.anew;
  raiseTo()
}
inline wipe() {
  !wiped -> wiped = 1; printf("environment: the coordinator is wiped\n");
  rec.ceil = 0; rec.nonce = 0; rec.version = 0; cluster.ident = 0; cluster.floor = 0; cluster.by = 0
}
inline create() {
  cluster.ident == 0 && wiped -> rename(); cluster.anew = 1; cluster.by = cluster.ident;
#ifdef CREATE_EMPTY
  cluster.floor = 0;
#else
  t = REACH; do :: t < TICKS -> t++ :: break od;
  cluster.floor = t; t = 0;
#endif
  printf("operator: makes the cluster anew with the floor %d\n", cluster.floor)
}

active proctype all() {
  byte i, t;
  d_step { cluster.ident = 1; idents = 1; cluster.by = 1 }
  if :: watch = 1 :: TICKS > 1 -> watch = 2 :: TICKS > 2 -> watch = 3 fi;
end:
  do
#define HOST(h) \
  :: atomic { open(h, 2*h) } \
  :: atomic { extend(h, 2*h) } \
  :: d_step { close(h, 2*h) } \
  :: d_step { release(h, 2*h) } \
  :: d_step { again(h, 2*h) } \
  :: d_step { read(h, 2*h) } \
  :: d_step { look(2*h) } \
  :: d_step { look(2*h+1) } \
  :: d_step { take(h, 2*h) } \
  :: d_step { take(h, 2*h+1) } \
  :: d_step { die(h) }
  HOST(0)
  HOST(1)
#ifdef UNKNOWN_IS_PASSED
  :: d_step { assume(0, 0) }
  :: d_step { assume(1, 2) }
#endif
  :: atomic { land(0) }
  :: atomic { land(1) }
  :: d_step { lose(0) }
  :: d_step { lose(1) }
#ifdef CHANGES
  :: d_step { change() }
#endif
#ifdef RESTORES
  :: d_step { backUp() }
  :: atomic { putBack() }
#endif
#ifdef RAISES
  :: atomic { raise() }
#endif
#ifdef WIPES
  :: d_step { wipe() }
  :: atomic { create() }
#endif
  od
}
