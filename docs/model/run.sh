#!/bin/sh
# Checks the model. It wants spin, gcc and 8 GB, and works in a temporary directory.
#
#   run.sh              every configuration with all rules on, to the last state, and every
#                       switch that breaks a rule until an assertion fails
#   run.sh quick        the same of the small ones
#   run.sh trail NAME   the shortest way to a duplicate with the switch NAME, step by step
#
# It exits with 1 if a configuration breaks, or a switch does not. LIMIT is how many seconds a
# single check may take (900), MEMORY how many MB (4000), JOBS how many run at once (2).
set -eu
here=$(cd "$(dirname "$0")" && pwd)

small="LANES=2 REDUCED"
three="LANES=3 REDUCED"
more="LANES=3 REDUCED=2"
update="LANES=2 REDUCED=2 UPDATES"
lawless="UNIQUE_ONLY SENDER_GOES_ON NEWCOMER_WITHOUT_COMMIT LOCK_NOT_HANDED NEWCOMER_ISSUES"

# A line for each check: in which runs, what must come of it, its name, how it is searched
# (dfs, or bfs for the shortest trail), the definitions.
configurations() {
  cat <<END
quick holds small dfs $small
all   holds small-ordered dfs LANES=2 REDUCED=0
all   holds small-more dfs LANES=2 REDUCED=2
all   holds fence dfs $three
all   holds changes dfs $three CHANGES
all   holds raises dfs $three RAISES
quick holds restores-small dfs $small CHANGES RESTORES
quick holds restores-versions-small dfs $small CHANGES RESTORES BY_VERSION
quick holds short-small dfs $small CHANGES RESTORES SHORT
all   holds short dfs $more CHANGES RESTORES SHORT
quick holds wipes-small dfs $small CHANGES WIPES
quick holds wipes-versions-small dfs $small CHANGES WIPES BY_VERSION
quick holds wipes-short-small dfs $small CHANGES WIPES SHORT
all   holds wipes-short dfs $more CHANGES WIPES SHORT
all   holds operators dfs $more CHANGES RAISES RESTORES WIPES
all   holds operators-versions dfs $more CHANGES RAISES RESTORES WIPES BY_VERSION
quick holds moves-small dfs $small CHANGES MOVES
quick holds moves-versions-small dfs $small CHANGES MOVES BY_VERSION
all   holds moves-versions dfs $more CHANGES MOVES BY_VERSION
quick holds ranges-small dfs $small CHANGES RANGES
all   holds ranges dfs $more CHANGES RAISES RANGES
quick holds clones-small dfs $small CLONES
all   holds clones dfs $more CLONES
all   holds clones-operators dfs LANES=2 REDUCED=2 CHANGES RAISES RESTORES BY_VERSION CLONES
quick holds updates-small dfs $update
all   holds updates-plain dfs $small UPDATES
all   holds updates dfs $more UPDATES
all   holds updates-restores dfs $update RESTORES BY_VERSION
quick holds updates-lawless dfs $update $lawless
quick holds slots dfs SLOTS TICKS=3
END
}
# A switch is one more definition, by its name: what is before a colon.
switches() {
  awk '{definition = $3; sub(/:.*/, "", definition); print $0, definition}' <<END
quick duplicate ANY_FLOOR bfs $small
quick duplicate OPENING_LOWERS bfs $small
quick duplicate EXTEND_LOWERS bfs $small
quick duplicate NO_CHECK_OPENING bfs $small
quick duplicate NO_CHECK_EXTEND bfs $small
quick duplicate NO_CHECK_RELEASE bfs $small
quick duplicate UNKNOWN_IS_PASSED bfs $small
quick duplicate LOOKS_NOT_AGAIN bfs $small
quick duplicate RELEASE_BEFORE_CLOSE bfs $small
quick duplicate SLOTS_BEFORE_CLOSE bfs $small
quick duplicate LOWER_BELOW_FLOOR bfs $small
all   holds RELEASE_IN_DOUBT dfs $three
all   duplicate NO_CLUSTER_FLOOR bfs $small RESTORES
all   duplicate NO_IDENTITY bfs $small RESTORES
all   duplicate NO_IDENTITY:wipes bfs $small WIPES BY_VERSION
all   duplicate RECORD_FIRST bfs $small RESTORES BY_VERSION
all   duplicate GOES_ON bfs $small RESTORES
all   duplicate NO_CUT bfs $small RESTORES SHORT
all   duplicate SHORT_TWICE bfs $small RESTORES SHORT
all   duplicate CREATE_EMPTY bfs $small WIPES
all   duplicate STAYS bfs $small WIPES SHORT
all   duplicate JOIN_BLIND bfs $small MOVES BY_VERSION
all   holds JOIN_BLIND:restores dfs $more CHANGES RESTORES BY_VERSION
all   duplicate EXPORT_READS_FIRST bfs $small MOVES
quick duplicate WIDENS_FIRST bfs $small RANGES
quick duplicate WIDENS_WITHOUT_FLOOR bfs $small RANGES
quick duplicate CLONE_ISSUES bfs $small CLONES
quick duplicate CLONE_LOOKS_ONCE bfs $small CLONES
all   duplicate CLONE_WRITES bfs $small CLONES
all   duplicate CLONE_GIVES_BACK bfs $small CLONES
all   duplicate CLONE_LOOKS_EARLY bfs $small CLONES
all   holds CLONE_EXTENDS dfs $small CLONES
all   duplicate REOPENS bfs $update
all   duplicate REOPENS_IN_DOUBT bfs $update
all   holds REOPENS_UNASKED dfs $more UPDATES
all   duplicate OWN_FLOOR bfs $update
all   duplicate TOLD_FLOOR bfs $update
quick shared SENDER_GOES_ON bfs $update
quick shared NEWCOMER_WITHOUT_COMMIT bfs $update
quick shared LOCK_NOT_HANDED bfs $update
quick duplicate BEGIN_ANEW bfs SLOTS
quick duplicate BEGIN_STORED bfs SLOTS
quick duplicate LOOKS_ONCE bfs SLOTS
END
}

# model DEFINITION... names the file: slot.pml with SLOTS, flakeward.pml else.
model() {
  case " $* " in *" SLOTS "*) echo slot.pml ;; *) echo flakeward.pml ;; esac
}

# build HOW DEFINITION... makes ./pan of the model with the definitions.
build() {
  search=
  [ "$1" = bfs ] && search=-DBFS
  shift
  cp "$here"/*.pml .
  for definition; do # one that is misspelt would change nothing
    [ "$definition" = SLOTS ] || grep -qw "${definition%=*}" "$(model "$@")" || { echo "run.sh: the model has no $definition" >&2; return 1; }
  done
  spin -a $(printf -- '-D%s ' "$@") "$(model "$@")" >spin.out 2>&1 && grep -q . pan.c || { cat spin.out >&2; return 1; }
  # Every step is atomic and changes what all see: there is nothing for partial orders to reduce.
  gcc -O1 -w -DSAFETY -DNOREDUCE -DNOFAIR -DCOLLAPSE -DVECTORSZ=512 -DMEMLIM="${MEMORY:-4000}" $search -o pan pan.c
}

# check NUMBER RUNS holds|duplicate|shared NAME HOW DEFINITION... leaves a row of the table, and
# what was found.
check() {
  number=$1 want=$3 name=$4 how=$5
  shift 5
  mkdir "$work/$number"
  cd "$work/$number"
  found=nothing states=- reached=- seconds=- result="not built"
  if build "$how" "$@"; then
    begun=$(date +%s)
    timeout "${LIMIT:-900}" nice ./pan -E -m4000000 >pan.out 2>&1 || true
    seconds=$(($(date +%s) - begun))
    states=$(awk '/states, stored/ {print $1}' pan.out)
    reached=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' pan.out)
    if grep -q 'assertion violated.*!(issued)' pan.out; then
      found=duplicate
      result="a duplicate, after $(steps "$@" | wc -l) steps"
    elif grep -q 'assertion violated.*!(shared)' pan.out; then
      found=shared
      result="two serve a connection, after $(steps "$@" | wc -l) steps"
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

# steps DEFINITION... prints the trail that pan left, a line for each step. The model puts its lanes
# in order and numbers its writes anew after each step; here each keeps the number that it had
# first.
steps() {
  spin -t -T $(printf -- '-D%s ' "$@") "$(model "$@")" | awk '
    $1 == "@lane" { names["lane", $2] = ++lanes; next }
    $1 == "@write" { names["write", $2] = ++writes; next }
    $1 == "@swap" { kept = named($2, $3); names[$2, $3] = named($2, $4); names[$2, $4] = kept; next }
    $1 == "@number" { numbered[$3] = named("write", $2); next }
    { for (n in numbered) { names["write", n] = numbered[n]; delete numbered[n] } }
    /^ *((lane|process|thread) [0-9]|environment:|operator:)/ {
      sub(/ of process 0/, "")
      for (i = 1; i < NF; i++) if ($i ~ /^\(?(lane|write|process)$/ && $(i + 1) ~ /^[0-9]/) {
        kind = $i; sub(/\(/, "", kind); rest = $(i + 1); sub(/^[0-9]+/, "", rest)
        $(i + 1) = named(kind, $(i + 1) + 0) rest
      }
      print
    }
    function named(kind, n) { return (kind, n) in names ? names[kind, n] : n }'
}

# table HEADING LINES checks them, several at once, and prints the rows in order.
table() {
  printf '\n| %s | states | depth | seconds | result |\n|---|---|---|---|---|\n' "$1"
  echo "$2" | awk -v table="$1" '{print table NR, $0}' | xargs -P "${JOBS:-2}" -L 1 "$here/run.sh" check "$work" | {
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
trail)
  line=$(switches | grep -v '^[a-z]* *holds' | grep " [a-z]* ${2:-} bfs ") || { echo "run.sh: no switch \"${2:-}\"; there are" $(switches | awk '$2 != "holds" {print $3}') >&2; exit 1; }
  set -- $line
  shift 4
  cd "$work"
  build bfs "$@"
  nice ./pan -E -m4000000 >pan.out 2>&1 || true
  steps "$@"
  exit
  ;;
*) echo "run.sh: it is run.sh [all], run.sh quick, or run.sh trail NAME" >&2; exit 1 ;;
esac
table configuration "$(configurations | grep "$wanted")"
table switch "$(switches | grep "$wanted")"
bad=$(cat "$work"/*.found | awk '$1 != $2' | wc -l)
printf '\n%s configurations hold, %s switches give a duplicate, %s have two serve a connection, %s hold as they must' \
  "$(count configuration 'holds holds')" "$(count switch 'duplicate duplicate')" "$(count switch 'shared shared')" \
  "$(count switch 'holds holds')"
[ "$bad" = 0 ] || { echo "; $bad NOT AS EXPECTED"; exit 1; }
echo
