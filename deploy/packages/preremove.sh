#!/bin/sh
# Before the package's files go. At an upgrade the daemon serves on until the new one is there.
set -e
case "$1" in
remove | 0 | '') ;;
deconfigure | upgrade | failed-upgrade | [1-9]) exit 0 ;;
*) ;; # apk gives the version that is removed
esac
if [ -d /run/systemd/system ]; then
	systemctl stop flakeward.socket flakeward.service || true
fi
if command -v systemctl >/dev/null; then
	systemctl disable flakeward.socket flakeward.service >/dev/null 2>&1 || true
fi
