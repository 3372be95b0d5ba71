/*
 * Fewer states for the same question (-DREDUCED). After each step everything is put
 * into one form of those that cannot be told apart by any duplicate to come:
 *
 *  - a claim that is lost is known to be lost: all that a daemon does with it fails;
 *  - what is not the record's, and has no grant that reaches the watched tick from below,
 *    is forgotten: it could only keep its daemon from doing more;
 *  - a claim node that nothing uses, and no call that may land, is gone: it only bars;
 *  - a clone's slots, its last tick and its journal are forgotten: it issues nothing, gives
 *    nothing back, and its journal has moved;
 *  - the mark that a record shows is left out: it decides about put-back journals only;
 *  - the two daemons are alike: the one with the larger memory is daemon 1 (not with
 *    -DUNORDERED: a trail is to be read).
 */
#ifdef REDUCED

#if defined(PUTBACKS) || defined(WIPES) || defined(STALE) || defined(STRAYS) || defined(LOOKS) || defined(RAISES) || defined(RESTORES) || defined(NO_CLAIM_CHECK)
#error "REDUCED is for configurations that have none of these"
#endif

#define SPENT(h) (DEAD(h) && (h.w != 0 || h.mark >= watch || h.granted < watch))
inline settleEntry(e) { if :: SPENT(e) -> clearEntry(e) :: else fi }
inline settleHolding(h, o) {
  if :: h.claim && !(h.is && OWNS(o, h.w)) -> h.claim = 0 :: else fi;
  if
  :: DEAD(h) && h.lane == OPEN && (!h.free || h.granted < watch) -> clearHolding(h)
  :: DEAD(h) && h.lane == NOLANE && SPENT(h) -> clearHolding(h)
  :: else
  fi
}
#ifdef CLONES
#define CLAIMED(c, l, u, worker) ((c.claim && c.w == worker) || (l.claim && l.w == worker) || u.w == worker)
#define SHARED(o, worker) ((cloned[o] && CLAIMED(cur[o], leav[o], pending[o], worker)) || CLAIMED(imageCur, imageLeav, imagePending, worker))
#else
#define SHARED(o, worker) false
#endif
inline settleNode(o, worker) {
  if
  :: node[worker] == 1 + o && !(cur[o].claim && cur[o].w == worker) && !(leav[o].claim && leav[o].w == worker) &&
     pending[o].w != worker && !SHARED(1 - o, worker) && !(late.kind != NOCALL && late.w == worker) -> node[worker] = 0
  :: else
  fi
}
inline settleDaemon(o) {
  if
  :: pending[o].cont /* a mark is still to be taken over */
  :: !pending[o].cont && stopping[o] -> skip
  :: else -> settleHolding(cur[o], o)
  fi;
  settleHolding(leav[o], o);
  settleEntry(jcur[o]); settleEntry(jleav[o]);
  settleNode(o, 0); settleNode(o, 1)
}

#ifdef CLONES
#if defined(CLONE_ISSUES) || defined(CLONE_GIVES_BACK) || defined(CLONE_JOURNALS_HERE) || defined(CLONE_UNSHOWN) || defined(CLONE_ENDS_SESSION)
#error "REDUCED is for clones that keep to the rules"
#endif
inline settleClone(h) { h.free = 0; h.last = 0 }
inline settleImage(h) {
  if :: h.claim && !(h.is && node[h.w] != 0) -> h.claim = 0 :: else fi;
  if
  :: DEAD(h) && (h.lane == OPEN || h.lane == NOLANE && SPENT(h)) -> clearHolding(h)
  :: else
  fi
}
#endif
inline settleCopies() {
#ifdef COPIES
  settleEntry(copied); settleEntry(copiedLeav);
#endif
#ifdef CLONES
  settleClone(imageCur); settleClone(imageLeav);
  if :: !imagePending.cont && !imageStopping -> settleImage(imageCur) :: else fi;
  settleImage(imageLeav);
  clearEntry(imageJcur); clearEntry(imageJleav);
  if :: cloned[0] -> settleClone(cur[0]); settleClone(leav[0]); clearEntry(jcur[0]); clearEntry(jleav[0]) :: else fi;
  if :: cloned[1] -> settleClone(cur[1]); settleClone(leav[1]); clearEntry(jcur[1]); clearEntry(jleav[1]) :: else fi;
#endif
  skip
}

/* The daemons' order. */
#ifdef UNORDERED
#define order() skip
#else
hidden int k0, k1;
hidden Holding kept;
hidden Entry entry;
hidden Claim opening;
hidden byte number;
#define PACKED(h) ((((((((h.w * 2 + h.is) * 2 + h.op) * 2 + h.claim) * 4 + h.lane) * 2 + h.free) * 8 + h.last) * 8 + h.mark) * 8 + h.granted)
#define ENTERED(e) (((e.w * 2 + e.is) * 8 + e.mark) * 8 + e.granted)
#if defined(CLONES)
#define PLACED(o) (away[o] * 2 + cloned[o])
#elif defined(MOVES)
#define PLACED(o) away[o]
#else
#define PLACED(o) 0
#endif
#define FIRST(o) ((PLACED(o) * 131072 + PACKED(cur[o])) * 1024 + ENTERED(jcur[o]))
#define SECOND(o) (PACKED(leav[o]) * 1024 + ENTERED(jleav[o]))
#define THIRD(o) (((((pending[o].w * 2 + pending[o].is) * 2 + pending[o].cont) * 8 + pending[o].floor) * 4 + stopping[o]) * 256 + COUNTED(o))
#if defined(CRASHES) && defined(LOSSES) && defined(EXPIRIES)
#define COUNTED(o) ((crashes[o] * 4 + losses[o]) * 4 + expiries[o])
#else
#define COUNTED(o) 0
#endif
inline swapHolding(a, b) { copyHolding(kept, a); copyHolding(a, b); copyHolding(b, kept) }
inline swapEntry(a, b) { copyEntry(entry, a); copyEntry(a, b); copyEntry(b, entry) }
inline swapNumber(a, b) { number = a; a = b; b = number }
inline swap() {
  swapHolding(cur[0], cur[1]); swapHolding(leav[0], leav[1]);
  swapEntry(jcur[0], jcur[1]); swapEntry(jleav[0], jleav[1]);
  copyClaim(opening, pending[0]); copyClaim(pending[0], pending[1]); copyClaim(pending[1], opening);
  swapNumber(stopping[0], stopping[1]);
#ifdef MOVES
  swapNumber(away[0], away[1]);
#endif
#ifdef CLONES
  swapNumber(cloned[0], cloned[1]);
#endif
#ifdef CRASHES
  swapNumber(crashes[0], crashes[1]);
#endif
#ifdef LOSSES
  swapNumber(losses[0], losses[1]);
#endif
#ifdef EXPIRIES
  swapNumber(expiries[0], expiries[1]);
#endif
#ifdef ROLLBACKS
  swapNumber(clock[0], clock[1]); swapNumber(rollbacks[0], rollbacks[1]);
#endif
  if :: node[0] -> node[0] = 3 - node[0] :: else fi;
  if :: node[1] -> node[1] = 3 - node[1] :: else fi;
  if :: late.kind != NOCALL -> late.d = 1 - late.d :: else fi
}
inline order() {
  k0 = FIRST(0); k1 = FIRST(1);
  if :: k0 == k1 -> k0 = SECOND(0); k1 = SECOND(1) :: else fi;
  if :: k0 == k1 -> k0 = THIRD(0); k1 = THIRD(1) :: else fi;
  if :: k0 > k1 -> swap() :: else fi;
  k0 = 0; k1 = 0
}
#endif

inline settle() {
  settleDaemon(0); settleDaemon(1); settleCopies(); order()
}

#define EACH do :: atomic { if
#define DONE fi; d_step { settle() } } od
#else
#define EACH do
#define DONE od
#endif
