#!/bin/sh
# Checks the model: every configuration with all rules on, to the last state, and
# every switch that breaks a rule until a tick is issued twice. It wants spin and gcc,
# takes some minutes of one core and 3 GB, and works in a temporary directory. It exits
# with 1 if a configuration breaks, or a switch does not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for tool in spin gcc; do
  command -v $tool >/dev/null || { echo "run.sh: $tool is missing: apt-get install $tool" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

# check holds|duplicate NAME how DEFINITION...; how is dfs, bfs (the shortest trail) or
# the depth that a search is limited to. More than LIMIT seconds are a failure.
check() {
  want=$1 name=$2 how=$3
  shift 3
  rm -rf "$work/run" && mkdir "$work/run" && cp "$here"/*.pml "$work/run" && cd "$work/run"
  defines= search= depth=4000000
  for definition in "$@"; do defines="$defines -D$definition"; done
  case $how in bfs) search=-DBFS ;; dfs) ;; *) depth=$how ;; esac
  spin -a $defines flakeward.pml >spin.out 2>&1 || { cat spin.out; exit 1; }
  gcc -O2 -w -DSAFETY -DNOREDUCE -DNOFAIR -DCOLLAPSE -DVECTORSZ=512 -DMEMLIM=7500 $search -o pan pan.c
  begun=$(date +%s)
  timeout "${LIMIT:-900}" nice ./pan -E -m$depth >pan.out 2>&1 || true
  seconds=$(($(date +%s) - begun))
  states=$(awk '/states, stored/ {print $1}' pan.out)
  reached=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' pan.out)
  if grep -q 'assertion violated  *!(issued)' pan.out; then
    found=duplicate
    trail=$(sed -n 's/.*issued) (at depth \([0-9]*\)).*/\1/p' pan.out)
    result="duplicate found after $states states, trail of $trail steps"
  elif grep -q 'errors: 0$' pan.out && ! grep -q -e 'max search depth too small' -e 'Search not completed' pan.out; then
    found=holds
    result="no duplicate"
  else
    found=nothing
    result="not completed: $(grep -m1 -e 'error' -e 'violated' -e 'memory' -e 'too small' pan.out || echo "$seconds seconds")"
  fi
  if [ $found != "$want" ]; then
    failed=1
    result="$result: NOT AS EXPECTED"
  fi
  printf '| `%s` | %s | %s | %s | %s |\n' "$name" "${states:--}" "${reached:--}" "$seconds" "$result"
  cd "$work"
}

one="WORKERS=1 TICKS=2 OTHER=0"
two="WORKERS=2 TICKS=2 OTHER=0"

heading() { printf '\n| %s | states | depth | seconds | result |\n|---|---|---|---|---|\n' "$1"; }

heading configuration
check holds one-worker dfs WORKERS=1 TICKS=3
check holds re-lease dfs $two LOSSES=0
check holds re-lease-losses dfs WORKERS=2 TICKS=1 OTHER=0
check holds stale dfs $one STALE STRAYS
check holds looks-disk dfs $one LOOKS DISKFAULTS
check holds copies dfs $one COPIES LOSSES=0
check holds raises dfs $one RAISES LOSSES=0
check holds restores dfs $one RESTORES LOSSES=0

heading switch
check duplicate HOLDER_IS_START bfs HOLDER_IS_START $one
check duplicate NO_VERSION_EXTEND bfs NO_VERSION_EXTEND $one
check duplicate NO_VERSION_OPENING bfs NO_VERSION_OPENING $one STALE
check duplicate FLOOR_NOT_RECORD bfs FLOOR_NOT_RECORD $one
check duplicate JOURNAL_AFTER bfs JOURNAL_AFTER $one
check duplicate LOWER_BEFORE_CLOSE bfs LOWER_BEFORE_CLOSE $two LOSSES=0
check duplicate LOWER_BEFORE_JOURNAL bfs LOWER_BEFORE_JOURNAL $one
check duplicate ANY_JOURNAL bfs ANY_JOURNAL $one
check duplicate NO_SECOND_LOOK bfs NO_SECOND_LOOK $one LOOKS
check duplicate OPENING_BY_READ bfs OPENING_BY_READ $one STALE
check duplicate OPENING_LOWERS bfs OPENING_LOWERS $one
check duplicate GRANT_EARLY bfs GRANT_EARLY $one
check duplicate UNKNOWN_IS_DONE bfs UNKNOWN_IS_DONE $one
check duplicate NEW_HOLDER_OLD_MARK bfs NEW_HOLDER_OLD_MARK $one
check duplicate SLOT_TWICE bfs SLOT_TWICE $one
check duplicate NO_MARK_TEST bfs NO_MARK_TEST $one COPIES
check duplicate GRANT_PUT_BACK dfs GRANT_PUT_BACK $one COPIES LOSSES=0
check duplicate NO_ERA 120 NO_ERA $one RESTORES LOSSES=0
check holds NO_CLAIM_CHECK dfs NO_CLAIM_CHECK $one
exit $failed
