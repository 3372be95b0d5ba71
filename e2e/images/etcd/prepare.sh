#!/bin/sh
# prepare.sh DIRECTORY: compiles etcd from its Go module into the directory, as
# etcd's own images have it: two names, here of one program. Its wall clock can be set by a
# file, for the drills: a container cannot be given another one.
set -eu
mkdir -p "$1/bin"
cd "$(dirname "$0")"
GO=${GO:-go}

# Go's package time, with an offset in Now and a file that has it.
overlay=$(mktemp -d)
trap 'rm -rf "$overlay"' EXIT
now='sec, nsec, mono := runtimeNow()'
of=$("$GO" env GOROOT)/src/time
sed "s/^\t$now\$/&\n\tsec += drillSeconds.Load()/" "$of/time.go" >"$overlay/time.go"
[ "$(grep -c drillSeconds "$overlay/time.go")" = 1 ] || {
	echo "prepare.sh: time.Now of $("$GO" version) does not read the clock by '$now' in one place: say here how it does." >&2
	exit 1
}
cat >"$overlay/overlay.json" <<-END
	{"Replace": {"$of/time.go": "$overlay/time.go", "$of/drill.go": "$PWD/clock.overlay"}}
END
GOFLAGS= GOWORK=off GOOS=linux CGO_ENABLED=0 "$GO" build -trimpath -overlay "$overlay/overlay.json" -ldflags '-s -w' -o "$1/bin/etcd" .
ln -s etcd "$1/bin/etcdctl"
