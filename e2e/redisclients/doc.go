// Package redisclients holds the tests in which the Redis clients of several languages, and tools
// for Redis, ask a daemon as they come: by their defaults, with their pipelines and transactions.
// Their programs are in testdata.
package redisclients
