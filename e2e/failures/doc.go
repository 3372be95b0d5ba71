// Package failures brings about each way in which a coordinator can fail, with real servers of etcd
// and of ZooKeeper, and wants one text for it wherever it is said: in the log of a daemon that
// starts, in that of one that runs, and by `status --cluster`. docs/operations.md has the table.
package failures
