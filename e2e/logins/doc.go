// Package logins has clusters of etcd restarted again and again under a daemon whose login there
// ends after seconds.
package logins
