/*
 * What a record has granted: all up to its ceiling but the gaps. The names are those of
 * coord/claims/room.go.
 */
typedef Gap {            /* free: above from, up to to; 0, 0: there is none */
  unsigned from : 3;
  unsigned to : 3
}
typedef Record {         /* coord/claims/values.go: record */
  unsigned ceil : 3;
  unsigned until : 3;    /* the end of the interval of its opening; 0: above the ceiling */
  Gap gap[KEPT]          /* from the lowest to the highest */
}
Record rec;

/* A step loads the gaps, changes them, and stores those that the record keeps. Between two
   steps all of these are 0. */
byte gf[4], gt[4], n, m, i, own;
#define NOTOWN 9

inline load() {
  n = 0; own = NOTOWN;
  do
  :: n < KEPT && rec.gap[n].to -> gf[n] = rec.gap[n].from; gt[n] = rec.gap[n].to; n++
  :: else -> break
  od
}
inline unload() {
  i = 0; do :: i < 4 -> gf[i] = 0; gt[i] = 0; i++ :: else -> break od;
  n = 0; m = 0; i = 0; own = 0
}
/* own: the gap that the record's opening is in. */
inline findOwn() {
  i = 0; own = NOTOWN;
  do
  :: i < n -> if :: rec.until && gt[i] == rec.until -> own = i :: else fi; i++
  :: else -> break
  od
}
inline insertGap(at, above, to) {
  i = n;
  do
  :: i > at -> gf[i] = gf[i - 1]; gt[i] = gt[i - 1]; i--
  :: else -> break
  od;
  gf[at] = above; gt[at] = to; n++
}
inline removeGap(at) {
  i = at; n--;
  do
  :: i < n -> gf[i] = gf[i + 1]; gt[i] = gt[i + 1]; i++
  :: else -> break
  od
}
/* withGaps */
inline keep() {
  i = 0; m = 0;
  do
  :: i < n ->
     if
     :: gf[i] >= gt[i]
     :: gf[i] < gt[i] && m > 0 && gt[m - 1] == gf[i] && gt[i] != rec.until && gt[m - 1] != rec.until -> gt[m - 1] = gt[i]
     :: else -> gf[m] = gf[i]; gt[m] = gt[i]; m++
     fi;
     i++
  :: else -> break
  od;
  n = m;
  do
  :: n > KEPT ->
     i = 0; m = NOTOWN;
     do
     :: i < n ->
        if
        :: gt[i] == rec.until
        :: gt[i] != rec.until && (m == NOTOWN || gt[i] - gf[i] < gt[m] - gf[m]) -> m = i
        :: else
        fi;
        i++
     :: else -> break
     od;
     removeGap(m)
  :: else -> break
  od;
  i = 0;
  assert(rec.until <= rec.ceil && (n == 0 || gt[n - 1] <= rec.ceil)); /* checkGaps */
  do
  :: i < KEPT && i < n -> rec.gap[i].from = gf[i]; rec.gap[i].to = gt[i]; i++
  :: i < KEPT && i >= n -> rec.gap[i].from = 0; rec.gap[i].to = 0; i++
  :: else -> break
  od;
  unload()
}
/* openedAt: in the interval that ends at until, above floor. What a leap leaves is a gap. */
inline openedAt(u, above) {
  rec.until = u; load(); findOwn();
  if
  :: u == 0 && above > rec.ceil -> insertGap(n, rec.ceil, above); rec.ceil = above
  :: u != 0 && above > gf[own] -> insertGap(own, gf[own], above); gf[own + 1] = above
  :: else
  fi;
  keep()
}
/* extended */
inline extended(to) {
  load(); findOwn();
  if
  :: rec.until == 0 -> rec.ceil = MAX(rec.ceil, to)
#ifndef GAP_NOT_MOVED
  :: rec.until != 0 && own != NOTOWN -> gf[own] = MAX(gf[own], MIN(to, rec.until))
#endif
  :: else
  fi;
  keep()
}
/* lowered */
#ifdef RELEASE_SWALLOWS
#define TOUCHES(to, end) true
#else
#define TOUCHES(to, end) ((to) <= (end))
#endif
inline lowered(to) {
  load(); findOwn();
  if
  :: rec.until == 0 ->
     rec.ceil = to;
     if
     :: n > 0 && TOUCHES(to, gt[n - 1]) -> rec.ceil = gf[n - 1]; n--
     :: else
     fi
  :: else ->
     if
     :: own == NOTOWN ->
        own = 0; do :: own < n && gt[own] <= rec.until -> own++ :: else -> break od;
        insertGap(own, rec.until, rec.until)
     :: else
     fi;
     gf[own] = MIN(to, rec.until);
     if
     :: own > 0 && TOUCHES(to, gt[own - 1]) -> gf[own] = gf[own - 1]; own--; removeGap(own)
     :: else
     fi
  fi;
  keep()
}
/* granted: how far the interval of the record's opening is granted. */
inline grantedTo(result) {
  load(); findOwn();
  result = (rec.until == 0 -> rec.ceil : (own == NOTOWN -> rec.until : gf[own]));
  unload()
}
