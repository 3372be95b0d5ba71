#!/bin/sh
# After the package's files are gone. A purge takes the state as well: with a directory as the
# coordinator that is the cluster. The user stays, as numbers of users are not used twice.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
	rm -rf /run/flakeward/flakeward.sock /run/flakeward/flakeward.sock.lock /run/flakeward/flakeward.sock.takeover
	rm -rf /var/lib/flakeward || true # it may be a mount
	rmdir /run/flakeward /etc/flakeward 2>/dev/null || true
fi
