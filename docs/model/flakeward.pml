/*
 * How flakeward lends worker IDs, and why no ID is issued twice, for spin.
 *
 * Two daemons, two worker IDs, a few ticks. The assertion, in issue, is uniqueness:
 * a tick of a worker ID is issued once. A tick has one sequence number here, so two
 * holders that share a tick are caught, and so is one that gives a slot twice.
 *
 * A claim node vanishes at any moment: leases end early, late, and by an operator's
 * hand. Each option of a daemon's loop is one atomic step. The rules are on unless a
 * switch (-DNAME) breaks one; README.md lists them.
 */

#include "state.pml"
#include "rules.pml"
#include "tree.pml"
#include "issue.pml"
#include "copies.pml"
#include "acquire.pml"
#include "reduce.pml"

proctype daemon(bit d) {
  byte w, t;
  bit b;
end:
  EACH
  /* issue.pml */
  :: d_step { crash() }
  :: d_step { coldStart() }
  :: d_step { coldStartOlder() }
  :: d_step { inheritOlder() }
  :: d_step { renew() }
  :: d_step { renewLeaving() }
#ifndef LOOKS
  :: d_step { issueCur() }
  :: d_step { issueLeaving() }
#else
  :: d_step { lookCur() }
  :: d_step { lookLeaving() }
  :: d_step { takeCur() }
  :: d_step { takeLeaving() }
  :: d_step { takeClosed() }
#endif
#ifdef ROLLBACKS
  :: d_step { tick() }
  :: atomic { rollBack() }
#endif

  /* acquire.pml */
  :: atomic { reap() }
  :: atomic { acquire() }
  :: d_step { takeUp() }
  :: atomic { MAYEXTEND -> extend(CUR) }
  :: d_step { lose(CUR) }
#ifdef LOWER_BEFORE_CLOSE
  :: d_step { leaveUnclosed() }
#else
  :: atomic { leave() }
#endif
  :: atomic { giveBack(LEAV) }
  :: d_step { isBack(LEAV) }
  :: atomic { stop() }
  :: atomic { stopped() }
  :: d_step { stopJournaled() }
#ifdef CRASHES
  :: d_step { stopIdle() }
#endif
#ifdef STALE
  :: atomic { readRecord() }
#endif
#ifdef STRAYS
  :: atomic { stray() }
#endif

  /* The disk fails. */
#ifdef DISKFAULTS
  :: d_step { renewFails() }
  :: d_step { takeUpFails() }
#endif
#ifdef PUTBACKS
  :: d_step { saveJournal() }
  :: d_step { putCopy() }
  :: d_step { loseJournal() }
#endif

  /* copies.pml */
#ifdef COPIES
  :: d_step { copyJournal() }
  :: d_step { placeCopy() }
#ifdef MOVED_DELETES_CLAIM
  :: d_step { deleteNamed() }
#endif
#endif
#ifdef CLONES
#ifndef NOW
  :: d_step { takeImage() }
#endif
  :: d_step { runImage() }
  :: d_step { notice() }
#endif
#ifdef WIPES
  :: d_step { acceptCluster() }
#endif
#ifdef CAPS
  :: d_step { seeRaise() }
#endif
  DONE
}

/* What happens to the coordinator. */
proctype environment() {
  byte w, t;
end:
  EACH
  :: d_step { expire(0) }
  :: d_step { expire(1) }
  :: d_step { landWrite() }
  :: d_step { landOpening() }
  :: d_step { late.kind != NOCALL -> forget() }
#ifdef WIPES
  :: d_step { wipe() }
#endif
#ifdef RAISES
  :: atomic { raiseAll() }
#endif
#ifdef RESTORES
  :: d_step { backUp() }
  :: atomic { putBack() }
#endif
  DONE
}

init {
  atomic {
#ifdef WATCH
    watch = WATCH;
#else
    watch = 1; do :: watch < TICKS -> watch++ :: break od; skip;
#endif
    d_step { nothing(0); nothing(1); printf("the watched tick is %d\n", watch) };
    run daemon(0); run daemon(1); run environment()
  }
}
