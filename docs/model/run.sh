#!/bin/sh
# Checks the model. It wants spin, gcc and 8 GB, and works in a temporary directory.
#
#   run.sh              every configuration with all rules on, to the last state, and every
#                       switch that breaks a rule until a tick is issued twice: two at once
#   run.sh quick        the same of a few small ones
#   run.sh letter       one crash, lost reply, end of a claim for each daemon, counted: all of
#                       it is in re-lease, and the counters only make more states (over 9 million)
#   run.sh trail NAME   the shortest way to a duplicate with the switch NAME, step by step
#
# It exits with 1 if a configuration breaks, or a switch does not. LIMIT is how many
# seconds a single check may take (900), MEMORY how many MB (4000).
set -eu
here=$(cd "$(dirname "$0")" && pwd)

one="WORKERS=1 TICKS=2 OTHER=0"
two="WORKERS=2 TICKS=2 OTHER=0"
tick="WORKERS=1 TICKS=1 OTHER=0"
few="CRASHES=1 LOSSES=1 EXPIRIES=1"
takeover="TAKEOVER TICKS=2"
fence="FENCE WRITES=3"

# A line for each check: in which runs, what must come of it, its name, how it is searched
# (dfs, bfs for the shortest trail, or dfs no deeper than a number), the definitions.
configurations() {
  cat <<END
all   holds re-lease dfs $two REDUCED
letter holds asked-1 dfs $two REDUCED $few WATCH=1
letter holds asked-2 dfs $two REDUCED $few WATCH=2
quick holds re-lease-small dfs WORKERS=2 TICKS=1 OTHER=0 REDUCED
all   holds one-worker dfs WORKERS=1 TICKS=3
quick holds one-worker-small dfs $one
all   holds clocks dfs $one ROLLBACKS=1 REDUCED
all   holds stale dfs $one STALE STRAYS
all   holds looks-disk dfs $one LOOKS DISKFAULTS
all   holds put-back dfs $one PUTBACKS LOSSES=0
all   holds raises dfs $one RAISES LOSSES=0
all   holds restores dfs $one RESTORES LOSSES=0
all   holds raise-caps dfs $one RESTORES CAPS LOSSES=0
all   holds copies dfs $one COPIES
quick holds copies-small dfs $tick COPIES LOSSES=0
all   holds copies-two dfs WORKERS=2 TICKS=1 OTHER=0 COPIES REDUCED
all   holds copies-wipes dfs $tick COPIES WIPES LOSSES=0
all   holds clones dfs $tick CLONES REDUCED
all   holds clones-plain dfs $tick CLONES LOSSES=0
quick holds clones-now dfs $tick CLONES NOW LOSSES=0
all   holds clones-now-two dfs WORKERS=2 TICKS=1 OTHER=0 CLONES NOW LOSSES=0 REDUCED
all   holds clones-now-looks dfs $tick CLONES NOW LOOKS LOSSES=0
quick holds slots dfs SLOTS TICKS=3
quick holds takeovers-small dfs TAKEOVER TICKS=2
all   holds takeovers dfs TAKEOVER TICKS=3
all   holds fence dfs FENCE
quick holds fence-small dfs $fence
all   holds fence-changes dfs FENCE CHANGES
all   holds fence-raises dfs FENCE RAISES
all   holds fence-restores dfs $fence RESTORES
all   holds fence-restores-changes dfs $fence RESTORES CHANGES
all   holds fence-versions dfs $fence RESTORES BY_VERSION
all   holds fence-cut dfs $fence RESTORES SHORT
all   holds fence-wipes dfs FENCE WIPES
all   holds fence-wipes-versions dfs FENCE WIPES BY_VERSION
all   holds fence-wipes-cut dfs FENCE WIPES SHORT
END
}
# A switch is one more definition, by its name.
switches() {
  awk '{print $0, $3}' <<END
all   duplicate HOLDER_IS_START bfs $one
all   duplicate NO_VERSION_EXTEND bfs $one
all   duplicate NO_VERSION_OPENING bfs $one STALE
all   duplicate FLOOR_NOT_RECORD bfs $one
quick duplicate JOURNAL_AFTER bfs $one
all   duplicate LOWER_BEFORE_CLOSE bfs $two LOSSES=0 REDUCED UNORDERED
all   duplicate LOWER_BEFORE_JOURNAL bfs $one
all   duplicate ANY_JOURNAL bfs $one
all   duplicate NO_SECOND_LOOK bfs $one LOOKS
all   duplicate OPENING_BY_READ bfs $one STALE
all   duplicate OPENING_LOWERS bfs $one
quick duplicate GRANT_EARLY bfs $one
quick duplicate UNKNOWN_IS_DONE bfs $one
all   duplicate NEW_HOLDER_OLD_MARK bfs $one
all   duplicate EXTEND_LOWERS bfs $one
all   duplicate SLOT_TWICE bfs $one
all   duplicate NO_MARK_TEST bfs $one PUTBACKS
all   duplicate GRANT_PUT_BACK dfs $one LOSSES=0 PUTBACKS
all   duplicate NO_CLUSTER_EPOCH 120 $one LOSSES=0 RESTORES
all   holds NO_CLAIM_CHECK dfs $one
all   duplicate MOVED_CONTINUES bfs $one LOSSES=0 COPIES BESIDE
all   duplicate MOVED_STARTS_COLD bfs $one LOSSES=0 COPIES BESIDE
all   duplicate MOVED_WITHOUT_FLOORS bfs $one LOSSES=0 COPIES BESIDE WIPES
all   holds MOVED_DELETES_CLAIM dfs $one COPIES
all   duplicate CLONE_ISSUES bfs $tick LOSSES=0 CLONES NOW
all   duplicate CLONE_LOOKS_ONCE bfs $tick LOSSES=0 CLONES NOW LOOKS
all   duplicate CLONE_GIVES_BACK bfs $tick LOSSES=0 CLONES
all   duplicate CLONE_JOURNALS_HERE bfs $tick LOSSES=0 CLONES NOW
quick holds CLONE_ENDS_SESSION dfs $tick LOSSES=0 CLONES NOW
all   duplicate CLONE_UNSHOWN bfs $tick LOSSES=0 CLONES NOW
all   duplicate RAISE_NO_CAP bfs $one LOSSES=0 RESTORES CAPS
all   duplicate CAP_UNJOURNALED bfs $one LOSSES=0 RESTORES CAPS
quick duplicate BEGIN_ANEW bfs SLOTS
quick duplicate BEGIN_STORED bfs SLOTS
quick duplicate LOOKS_ONCE bfs SLOTS
quick duplicate SENDER_GOES_ON bfs $takeover
quick duplicate SENDER_WRITES bfs $takeover
quick duplicate SENDER_RELEASES bfs $takeover
quick duplicate LANE_LEFT_OPEN bfs $takeover
quick duplicate HANDED_SHORT bfs $takeover
quick duplicate GOES_ON_FROM_THE_FLOOR bfs $takeover
quick duplicate NEWCOMER_WITHOUT_COMMIT bfs $takeover
quick duplicate JOURNAL_READ_EARLY bfs $takeover
quick duplicate LOCK_NOT_HANDED bfs $takeover
quick duplicate ANY_FLOOR bfs $fence
all   duplicate FENCE_OPENING_LOWERS bfs $fence
quick duplicate NO_CHECK_OPENING bfs $fence
quick duplicate NO_CHECK_EXTEND bfs $fence
all   duplicate NO_CHECK_RELEASE bfs FENCE
quick duplicate RELEASE_BEFORE_CLOSE bfs $fence
all   duplicate LOWER_BELOW_FLOOR bfs FENCE
quick duplicate UNKNOWN_IS_PASSED bfs $fence
quick duplicate LOOKS_NOT_AGAIN bfs $fence
all   duplicate NO_CLUSTER_FLOOR bfs $fence RESTORES
all   duplicate NO_IDENTITY bfs $fence RESTORES
quick duplicate NO_IDENTITY_VERSIONS bfs $fence WIPES BY_VERSION NO_IDENTITY
all   holds JOIN_BLIND dfs $fence RESTORES BY_VERSION
all   duplicate GOES_ON dfs FENCE RESTORES
all   duplicate NO_CUT dfs $fence RESTORES SHORT
quick duplicate CREATE_EMPTY bfs $fence WIPES
all   duplicate STAYS bfs $fence WIPES SHORT
END
}

# model DEFINITION... names the file: slot.pml with SLOTS, takeover.pml with TAKEOVER, fence.pml with FENCE, flakeward.pml else.
model() {
  case " $* " in *" SLOTS "*) echo slot.pml ;; *" TAKEOVER "*) echo takeover.pml ;; *" FENCE "*) echo fence.pml ;; *) echo flakeward.pml ;; esac
}

# build HOW DEFINITION... makes ./pan of the model with the definitions.
build() {
  search=
  [ "$1" = bfs ] && search=-DBFS
  shift
  cp "$here"/*.pml .
  spin -a $(printf -- '-D%s ' "$@") "$(model "$@")" >spin.out 2>&1 && grep -q . pan.c || { cat spin.out >&2; return 1; }
  # Every step is atomic and changes what all see: there is nothing for partial orders to reduce.
  gcc -O1 -w -DSAFETY -DNOREDUCE -DNOFAIR -DCOLLAPSE -DVECTORSZ=512 -DMEMLIM="${MEMORY:-4000}" $search -o pan pan.c
}

# check NUMBER RUNS holds|duplicate NAME HOW DEFINITION... leaves a row of the table, and what was found.
check() {
  number=$1 want=$3 name=$4 how=$5
  shift 5
  depth=4000000
  case $how in dfs | bfs) ;; *) depth=$how ;; esac
  mkdir "$work/$number"
  cd "$work/$number"
  found=nothing states=- reached=- seconds=- result="not built"
  if build "$how" "$@"; then
    begun=$(date +%s)
    timeout "${LIMIT:-900}" nice ./pan -E -m"$depth" >pan.out 2>&1 || true
    seconds=$(($(date +%s) - begun))
    states=$(awk '/states, stored/ {print $1}' pan.out)
    reached=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' pan.out)
    if grep -q 'assertion violated.*!(issued)' pan.out; then
      found=duplicate
      result="a duplicate, after $(steps "$@" | wc -l) steps"
    elif grep -q 'errors: 0$' pan.out && ! grep -q -e 'max search depth too small' -e 'Search not completed' pan.out; then
      found=holds
      result="no duplicate"
    else
      result="not completed: $(grep -m1 -e 'error' -e 'violated' -e 'memory' -e 'too small' pan.out || echo "$seconds seconds")"
    fi
  fi
  [ $found = "$want" ] || result="$result: NOT AS EXPECTED"
  echo "$want $found" >"$work/$number.found"
  printf '| `%s` | %s | %s | %s | %s |\n' "$name" "${states:--}" "${reached:--}" "$seconds" "$result" >"$work/$number.part"
  mv "$work/$number.part" "$work/$number.row"
  rm -rf "${work:?}/$number"
  echo "$number"
}

# steps DEFINITION... prints the trail that pan left, a line for each step.
steps() {
  spin -t -T $(printf -- '-D%s ' "$@") "$(model "$@")" | sed -n -e 's/^ *\(daemon [0-9]: .*\)/\1/p' -e 's/^ *\(environment: .*\)/\1/p' -e 's/^ *\(the watched .*\)/\1/p' \
    -e 's/^ *\(host [0-9]: .*\)/\1/p' -e 's/^ *\(operator: .*\)/\1/p'
}

# table HEADING LINES checks them, two at once, and prints the rows in order.
table() {
  printf '\n| %s | states | depth | seconds | result |\n|---|---|---|---|---|\n' "$1"
  echo "$2" | awk -v table="$1" '{print table NR, $0}' | xargs -P 2 -L 1 "$here/run.sh" check "$work" | {
    next=1
    while read -r _; do
      while [ -f "$work/$1$next.row" ]; do
        cat "$work/$1$next.row"
        next=$((next + 1))
      done
    done
  }
}

count() { cat "$work/$1"*.found 2>&1 | grep -c "^$2\$" || true; }

if [ "${1:-}" = check ]; then
  work=$2
  shift 2
  check "$@"
  exit
fi
for tool in spin gcc; do
  command -v $tool >/dev/null || { echo "run.sh: $tool is missing: apt-get install $tool" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
wanted='^all\|^quick'
case ${1:-all} in
all) ;;
quick) wanted='^quick' ;;
letter) wanted='^letter' ;;
trail)
  line=$(switches | grep " duplicate ${2:-} ") || { echo "run.sh: no switch \"${2:-}\"; there are" $(switches | awk '$2 == "duplicate" {print $3}') >&2; exit 1; }
  set -- $line
  shift 4
  cd "$work"
  build bfs "$@"
  nice ./pan -E -m4000000 >pan.out 2>&1 || true
  steps "$@"
  exit
  ;;
*) echo "run.sh: it is run.sh [all], run.sh quick, run.sh letter, or run.sh trail NAME" >&2; exit 1 ;;
esac
table configuration "$(configurations | grep "$wanted")"
chosen=$(switches | grep "$wanted") && table switch "$chosen"
bad=$(cat "$work"/*.found | awk '$1 != $2' | wc -l)
printf '\n%s configurations hold, %s switches break it, %s holds as it must' \
  "$(count configuration 'holds holds')" "$(count switch 'duplicate duplicate')" "$(count switch 'holds holds')"
[ "$bad" = 0 ] || { echo "; $bad NOT AS EXPECTED"; exit 1; }
echo
