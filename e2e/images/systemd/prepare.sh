#!/bin/sh
# prepare.sh DIRECTORY: puts Debian's packages together to a system with systemd, by mmdebstrap: as
# root, or where users may have namespaces.
set -eu
command -v mmdebstrap >/dev/null || {
	echo "prepare.sh: there is no 'mmdebstrap': the image is made of Debian's packages, so install it on Debian or Ubuntu." >&2
	exit 1
}
# mmdebstrap has a shell write to a pipe of its own, whose number dash takes up to 9: what was open before
# has to be closed.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
log=$1/log
mmdebstrap --variant=minbase --include=systemd,systemd-sysv --aptopt='Acquire::Languages "none"' \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
	bookworm "$1/root.tar" >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
rm "$log"
cp "$(dirname "$0")/init" "$1/"
