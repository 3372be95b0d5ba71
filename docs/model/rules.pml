/*
 * The rules, each with the switch that breaks it. The invariants are numbered as in
 * docs/guarantees.md; README.md has the list.
 */

#if defined(NO_VERSION_EXTEND)
#define CHECKED(kind) ((kind) != EXTEND)
#elif defined(NO_VERSION_OPENING)
#define CHECKED(kind) ((kind) != OPENING)
#else
#define CHECKED(kind) true
#endif

#define RUNS (stopping[d] == 0)
#ifdef CLONES
#define OWNS(o, worker) (cloned[o] -> node[worker] != 0 : node[worker] == 1 + o) /* a clone has the original's session */
#else
#define OWNS(o, worker) (node[worker] == 1 + o)
#endif
#define HAS(worker) OWNS(d, worker)
#define USES(worker) ((CUR.claim && CUR.w == worker) || (LEAV.claim && LEAV.w == worker) || PENDING.w == worker)

/* Invariant 2: a write is stored only if its claim's node is there and nobody else
   has opened the record (coord/claims/held.go: write). Writes of one's own do not
   count: the nonce tells them. */
#ifdef NO_CLAIM_CHECK
#define STANDS(h) (h.claim && h.is)
#else
#define STANDS(h) (h.claim && h.is && HAS(h.w))
#endif

/* Invariant 6 (coord/claims/claim.go: continues). Whatever was opened in an earlier
   era has no "is" any more. */
#ifdef ANY_JOURNAL
#define HOLDER(h) true
#else
#define HOLDER(h) h.is
#endif
#if defined(NO_MARK_TEST) || defined(REDUCED)
#define RECENT(h) true
#else
#define RECENT(h) (rec[h.w].mark <= h.mark)
#endif
#define CONTINUES(h, worker) (h.op && h.w == worker && HOLDER(h) && RECENT(h))

/* Up to where a lane issues (invariants 3 and 5; daemon/grant/holdings.go: raise). */
#ifdef JOURNAL_AFTER
#define CEILING(h) MIN(h.granted, h.mark + 1)
#else
#define CEILING(h) MIN(h.granted, h.mark)
#endif
#define WATCHED(h) (h.lane == OPEN && h.w == 0 && h.free && watch <= CEILING(h) && SHOWS(watch) && ISSUES && PASSED)

/* Invariant 1: what an Extend and an opening store. */
#ifdef EXTEND_LOWERS
#define RAISED(worker, ceiling) (ceiling)
#else
#define RAISED(worker, ceiling) MAX(rec[worker].ceil, ceiling)
#endif

/* What an opening is decided on: the record as it is, or as it was read before. */
#ifdef STALE
#define READ(worker) (seen[d].w == worker)
#define DECIDED seen[d].cont
#define CURRENT seen[d].fresh
#else
#define READ(worker) true
#define DECIDED CONTINUES(CUR, w)
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

/* Invariant 7: a process whose VM generation has changed issues nothing, gives nothing
   back, and journals as of the place where it started. A Take looks at it twice, as at
   the ceiling. */
#if defined(CLONES) && !defined(CLONE_UNSHOWN)
#define CHANGED cloned[d]
#else
#define CHANGED false
#endif
#ifdef CLONE_ISSUES
#define ISSUES true
#else
#define ISSUES !CHANGED
#endif
#ifdef CLONE_LOOKS_ONCE
#define STILL true
#else
#define STILL ISSUES
#endif
#ifdef CLONE_GIVES_BACK
#define LOWERING true
#else
#define LOWERING !CHANGED
#endif
#ifdef CLONE_JOURNALS_HERE
#define JOURNALED_AWAY false
#else
#define JOURNALED_AWAY CHANGED
#endif
/* Invariant 7 for what a start does with the entry of a worker ID that was being left. */
#if defined(MOVES) && !defined(MOVED_STARTS_COLD)
#define MAYSTART !away[d]
#else
#define MAYSTART true
#endif
#if defined(MOVES) && !defined(MOVED_STARTS_COLD) && !defined(MOVED_CONTINUES)
#define MAYINHERIT !away[d]
#else
#define MAYINHERIT true
#endif
/* The claims that a journal names are deleted in its place only. */
#ifdef MOVES
#define MAYREAP !away[d]
#else
#define MAYREAP true
#endif

/* Who has not accepted the new cluster claims nothing; what a journal says of other clusters is a floor. */
#ifdef WIPES
#define JOINED !foreign[d]
#define ABOVE(worker) (worker == 0 -> floors[d] : 0)
#define EXCUSED (wiped && !knew[d]) /* only what the journal says of itself is promised */
#else
#define JOINED true
#define ABOVE(worker) 0
#define EXCUSED false
#endif
/* The margin of a raise: from grants older than it nobody issues above its floor before
   its host has seen it. */
#ifdef CAPS
#define PASSED (!restored || aware[d] || watch <= cap)
#define SEEN (!restored || aware[d])
#else
#define PASSED true
#define SEEN true
#endif

#ifdef PUTBACKS
#define ANSWERS !put[d]  /* an old copy while the coordinator is away: not promised */
#else
#define ANSWERS true
#endif

/* With these switches what is not the record's may come back to life, and is kept. */
#if defined(HOLDER_IS_START) || defined(ANY_JOURNAL) || defined(NEW_HOLDER_OLD_MARK) || defined(NO_CLUSTER_EPOCH) || \
    defined(NO_VERSION_OPENING) || defined(OPENING_BY_READ)
#define DEAD(ref) false
#else
#define DEAD(ref) !ref.is
#endif
