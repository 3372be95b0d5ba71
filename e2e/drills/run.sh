#!/usr/bin/env bash
# run.sh [DRILL [FLAG...]]: clusters in containers, on etcd and on ZooKeeper, broken in every way
# and judged by every ID that they handed out. DRILL is a regular expression, such as etcd/calm, or
# /^calm$ for both; empty: all. The flags are those of e2e/drills: -once has each drill on one of
# the two coordinators in turn, -long a long storm of faults, -seed N the same faults again. The
# report is e2e/report.md, the evidence lies below e2e/runs. Wants docker with compose.
#
# From the environment: GO; IMAGES=kept takes the images that are there.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "${IMAGES:-}" != kept ]; then
	for image in drill sidecar etcd zookeeper; do sh e2e/images/build.sh $image; done
fi
mkdir -p .bin
CGO_ENABLED=0 "${GO:-go}" test -c -trimpath -tags urfave_cli_no_docs,grpcnotrace,e2e -o .bin/drills ./e2e/drills
run=${1:+TestDrills/$1}
[ $# = 0 ] || shift
limit=40m
case " $* " in *" -long "*) limit=1h ;; esac
# The program itself and not go test, so that a signal reaches it and its table comes last.
cd e2e/drills && exec ../../.bin/drills -test.v -test.timeout $limit -test.run "${run:-.}" "$@"
