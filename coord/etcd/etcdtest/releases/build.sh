#!/bin/sh
# build.sh 3.4|3.5|3.6|3.7 DIRECTORY: puts the server of that release of etcd into the directory, as RELEASE/etcd.
# 3.4 is Debian's and Ubuntu's package: it is no Go module. The others are compiled from theirs, half a minute each on
# two cores. What is there already costs nothing.
set -eu
umask 022
release=$1
mkdir -p "$2/$1"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")"
GO=${GO:-go}

# installed says whether the system's etcd is of the release.
installed() { [ -x /usr/bin/etcd ] && /usr/bin/etcd --version | grep -q "^etcd Version: $release\."; }

if [ "$release" = 3.4 ]; then
	etcd=$out/debian-3.4/usr/bin/etcd
	installed && etcd=/usr/bin/etcd
	if [ ! -x "$etcd" ]; then
		# Not installed: its service would begin to run.
		work=$(mktemp -d "$out/.3.4-XXXXXX")
		trap 'rm -rf "$work"' EXIT
		(cd "$work" && { apt-get download -q etcd-server || { apt-get update -q && apt-get download -q etcd-server; }; } && dpkg-deb -x etcd-server_*.deb root) </dev/null >"$work/log" 2>&1 || {
			cat "$work/log" >&2
			echo "build.sh: the package etcd-server could not be had by apt-get: install etcd 3.4 as /usr/bin/etcd." >&2
			exit 1
		}
		rm -rf "$out/debian-3.4"
		mv "$work/root" "$out/debian-3.4"
	fi
else
	# The newest is that of the drills' image.
	directory=$release what=go.etcd.io/etcd/server/v3
	[ "$release" != 3.7 ] || directory=../../../../e2e/images/etcd what=.
	cd "$directory"
	export GOWORK=off GOFLAGS= CGO_ENABLED=0
	etcd=$out/etcd-$("$GO" list -m -f '{{.Version}}' go.etcd.io/etcd/server/v3)
	if [ ! -x "$etcd" ]; then
		"$GO" build -trimpath -ldflags '-s -w' -o "$etcd.part" "$what" >&2
		mv "$etcd.part" "$etcd"
	fi
fi
[ "$(readlink "$out/$release/etcd")" = "$etcd" ] || ln -sf "$etcd" "$out/$release/etcd"
