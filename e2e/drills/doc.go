// Package drills breaks real clusters in containers and judges what they handed
// out. A drill is a script of faults; what runs it brings three members of a
// coordinator, three daemons and three recording clients, keeps all evidence, and
// tears everything down. Only tests are here, behind the build tag e2e.
package drills
