#!/bin/sh
# After the package's files are there. deb: $1 is configure, and $2 the version before, if any;
# rpm: $1 is 1 at an install and 2 at an upgrade; apk gives the new version and, at an upgrade, the
# old one.
set -e
case "$1" in
configure) before=$2 ;;
abort-*) exit 0 ;;
1) before= ;;
2) before=some ;;
*) before=$2 ;;
esac
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers flakeward.conf
elif ! grep -q '^flakeward:' /etc/passwd; then
	if command -v useradd >/dev/null; then
		useradd --system --user-group --home-dir /var/lib/flakeward --shell /usr/sbin/nologin flakeward
	else
		addgroup -S flakeward
		adduser -S -D -H -G flakeward -h /var/lib/flakeward -s /sbin/nologin flakeward
	fi
fi
if command -v systemd-tmpfiles >/dev/null; then
	systemd-tmpfiles --create flakeward.conf || true
fi
command -v systemctl >/dev/null || exit 0
# The distribution's presets say whether a new service is enabled: Debian's do, Fedora's do not.
[ -n "$before" ] || systemctl preset flakeward.service >/dev/null 2>&1 || true
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload || true
# A start waits for the coordinator; the package does not. A daemon that serves is taken over from. If
# that fails, it serves on, and its log has the reason: what has been installed may not fit.
if [ -n "$before" ] && [ "$(systemctl is-active flakeward.service)" = active ]; then
	systemctl --no-block reload flakeward.service || true
elif [ -n "$before" ]; then
	systemctl --no-block try-restart flakeward.service || true
elif systemctl --quiet is-enabled flakeward.service; then
	systemctl --no-block start flakeward.service || true
fi
