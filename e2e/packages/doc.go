// Package packages installs the package for Debian in a container with systemd, and has systemd
// start, stop, watch, kill and upgrade the daemon under load.
package packages
