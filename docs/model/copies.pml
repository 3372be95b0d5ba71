/*
 * Copies that run beside the original (invariant 7): of a journal, and of a whole
 * machine with the process in it. A place is one of the two daemons'; whatever ran there
 * before is gone for good, as in a crash. So a copy has its original beside it, or
 * replaces it.
 */

/* A journal is believed where it was written. Elsewhere nothing of it is, unless a
   switch leaves that out; its marks are floors. */
inline believe(h) {
#ifdef MOVES
  if
  :: away[d] ->
#ifdef MOVED_STARTS_COLD
     h.is = 0
#elif defined(MOVED_CONTINUES)
     h.granted = h.mark
#else
     clearHolding(h)
#endif
  :: else
  fi
#else
  skip
#endif
}

/* The process begins with what is on its disk: the floors of a journal that has moved. */
inline foldFloors() {
#ifdef WIPES
  if
  :: away[d] ->
#ifdef MOVED_WITHOUT_FLOORS
     floors[d] = 0
#else
     floors[d] = MAX(floors[d], MAX(MARKED(jcur[d]), MARKED(jleav[d])))
#endif
  :: else
  fi
#else
  skip
#endif
}

#ifdef COPIES
#ifdef BESIDE /* for a trail in which the original goes on */
bit from;
#define ELSEWHERE (from != d)
#else
#define ELSEWHERE true
#endif
/* The journal as it is on disk at this moment: `cp -a`, a volume's snapshot, a template. */
inline copyJournal() {
  jcur[d].w != NONE || jleav[d].w != NONE ->
  printf("daemon %d: its journal is copied, worker ID %d, mark %d, granted %d\n", d, jcur[d].w, jcur[d].mark, jcur[d].granted);
  copyEntry(copied, jcur[d]); copyEntry(copiedLeav, jleav[d]);
#ifdef BESIDE
  from = d;
#endif
#ifdef WIPES
  copiedFloor = floors[d]; copiedKnew = knew[d]; copiedForeign = foreign[d];
#endif
  skip
}
/* The copy is put somewhere, and a process starts on it. What was there is gone. */
inline placeCopy() {
  (copied.w != NONE || copiedLeav.w != NONE) && ELSEWHERE ->
  printf("daemon %d: starts on the copy, worker ID %d, mark %d, granted %d\n", d, copied.w, copied.mark, copied.granted);
  copyEntry(jcur[d], copied); copyEntry(jleav[d], copiedLeav); away[d] = 1;
#ifdef WIPES
  floors[d] = copiedFloor; knew[d] = copiedKnew; foreign[d] = copiedForeign;
#endif
  restart()
}
#ifdef MOVED_DELETES_CLAIM
/* As a restart in its place does with its predecessor's. */
inline deleteNamed() {
  RUNS && away[d] && jcur[d].w != NONE && jcur[d].is && node[jcur[d].w] != 0 ->
  printf("daemon %d: deletes the claim that the copy names, on worker ID %d\n", d, jcur[d].w);
  vanish(jcur[d].w)
}
#endif
#endif

#ifdef CLONES
#ifdef CLONE_UNSHOWN
#define STARTCLONE cloned[d] = 1; away[d] = 0
#else
#define STARTCLONE cloned[d] = 1; away[d] = 1
#endif
#ifdef NOW
/* The other daemon's machine as it is at this moment, with memory, disk and session, runs
   here as well. */
inline runImage() {
  cur[1 - d].w != NONE || pending[1 - d].w != NONE ->
  printf("daemon %d: its machine is a clone of the other's from now on, worker ID %d\n", d, cur[1 - d].w);
  copyHolding(CUR, cur[1 - d]); copyHolding(LEAV, leav[1 - d]); copyClaim(PENDING, pending[1 - d]);
  copyEntry(jcur[d], jcur[1 - d]); copyEntry(jleav[d], jleav[1 - d]); stopping[d] = stopping[1 - d];
#ifdef LOOKS
  take[d] = take[1 - d];
#endif
  STARTCLONE
}
#else
/* The machine as it is at this moment: memory, disk, session. */
inline takeImage() {
  CUR.w != NONE || PENDING.w != NONE ->
  printf("daemon %d: an image is made of its machine\n", d);
  copyHolding(imageCur, CUR); copyHolding(imageLeav, LEAV); copyClaim(imagePending, PENDING);
  copyEntry(imageJcur, jcur[d]); copyEntry(imageJleav, jleav[d]); imageStopping = stopping[d];
#ifdef LOOKS
  imageTake = take[d];
#endif
  skip
}
/* The image runs. Its VM generation is another one, and so its journal has moved. */
inline runImage() {
  imageCur.w != NONE || imagePending.w != NONE ->
  printf("daemon %d: its machine is a clone from now on, worker ID %d\n", d, imageCur.w);
  copyHolding(CUR, imageCur); copyHolding(LEAV, imageLeav); copyClaim(PENDING, imagePending);
  copyEntry(jcur[d], imageJcur); copyEntry(jleav[d], imageJleav); stopping[d] = imageStopping;
#ifdef LOOKS
  take[d] = imageTake;
#endif
  STARTCLONE
}
#endif
/* The process looks at the VM generation: it leaves its session, and starts anew as moved. */
inline notice() {
  CHANGED ->
#ifdef CLONE_ENDS_SESSION
  if :: node[0] != 0 && (CUR.w == 0 || LEAV.w == 0 || PENDING.w == 0) -> vanish(0) :: else fi;
  if :: node[1] != 0 && (CUR.w == 1 || LEAV.w == 1 || PENDING.w == 1) -> vanish(1) :: else fi;
#endif
  printf("daemon %d: notices that its machine was cloned, and starts anew\n", d);
  restart()
}
#endif

#ifdef WIPES
/* The coordinator's data are gone, and it is set up anew: another cluster. */
inline wipe() {
  printf("environment: the coordinator is wiped\n");
  wiped = 1; foreign[0] = 1; foreign[1] = 1; copiedForeign = 1;
  rec[0].ceil = 0; rec[0].mark = 0; rec[1].ceil = 0; rec[1].mark = 0; node[0] = 0; node[1] = 0; newEra()
}
/* A start in the new cluster that keeps the marks of its old journal, and nothing else of it.
   Daemons keep none any more: the new cluster begins above them. A journal that has moved has
   been asked for its marks at the start. */
inline acceptCluster() {
  foreign[d] ->
  if :: !away[d] -> floors[d] = MAX(floors[d], MAX(MARKED(jcur[d]), MARKED(jleav[d]))) :: else fi;
  clearEntry(jcur[d]); clearEntry(jleav[d]); foreign[d] = 0; away[d] = 0; restart();
  printf("daemon %d: accepts the new cluster, and stays above %d\n", d, floors[d])
}
#endif

#ifdef CAPS
/* The daemon learns of the raise: what it was granted before ends at the raise's floor,
   in memory and in the journal. */
#define CAP(g) g = MIN(g, cap)
inline seeRaise() {
  restored && !aware[d] -> aware[d] = 1;
  printf("daemon %d: sees that all marks were raised to %d\n", d, cap);
#ifndef RAISE_NO_CAP
  CAP(CUR.granted); CAP(LEAV.granted);
#ifndef CAP_UNJOURNALED
  CAP(jcur[d].granted); CAP(jleav[d].granted);
#endif
#endif
  skip
}
#endif
