// Package client hands out a flakeward daemon's IDs to a Go program.
//
//	ids, err := client.Open(client.DefaultSocket)
//	...
//	defer ids.Close()
//	id, err := ids.Next(ctx)
//
// A daemon with an address on TCP (its --listen) is named by that, such as 127.0.0.1:7070, and with
// the option Password where the address has one.
//
// It needs the standard library and nothing else: a program that imports this package alone builds
// none of the module's dependencies, though its go.sum may list them. A program opens one Client
// and shares it among its goroutines.
//
// # Stock
//
// The client asks for IDs ahead of need, in runs, and Next hands them out one by one: a counter
// that is raised, and a look at how old the run is. How many it asks for follows what is used:
// about as much as in half of MaxAge. At a demand below one ID in that time there is no stock, and
// each call asks the daemon. A client that nobody asks does nothing at all. What is in stock and
// grows too old, and what was drawn for a request whose reply was lost, is never used: that costs
// numbers, and cannot make duplicates.
//
// # Age
//
// An ID in stock is handed out for at most MaxAge. Its age is counted from before the request was
// sent that it came with, so the daemon drew it later, and it is looked at in each call. Where a
// call has to wait, what is drawn meanwhile is its own however long that took, as if it had asked
// the daemon itself: while the daemon makes requests wait, an ID may have been asked for longer
// than MaxAge ago, but never before the call that it is returned from.
//
// The clocks are the system's: the monotonic one, and the wall clock. A process that was stopped
// (SIGSTOP, a debugger, a cgroup's freezer) counts the time in which it stood still. So does a
// machine that was suspended, by the wall clock. A virtual machine that was halted does if its
// clocks went on; if it was saved and restored with its clocks as they were, no program in it can
// tell, and what it had in stock is handed out for the rest of MaxAge. Two copies of one running
// machine have the same stock, and hand it out twice.
//
// The look is taken within the call: a goroutine that is halted between it and the use of the ID
// has an ID that is older by that.
//
// # Order
//
// The daemon's IDs rise on one connection, with the exceptions that docs/guarantees.md names, and
// the client keeps to one connection and hands them out in order: the IDs that one goroutine gets
// rise, from Next, Take and the iterators alike. More than that, a call that begins after another
// has returned, in whatever goroutine, gets a higher ID. Calls that overlap get theirs in either
// order. Clients of one daemon, and connections of one client after each other, are in the order
// that the daemon gives to connections.
//
// # Cluster
//
// IDs are unique within one cluster. A daemon that was told no coordinator is a cluster by itself,
// and a program that reaches it by mistake gets IDs that may equal those of its own cluster. The
// option Cluster demands the cluster of a given UUID:
//
//	ids, err := client.Open(client.DefaultSocket, client.Cluster("0b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b10"))
//
// The client asks each daemon that it connects to for its cluster first, also after a connection
// broke. It takes no ID of a daemon in another cluster: each call returns a *ClusterError that
// names both. A daemon that has not joined a cluster yet is waited for as one that is not there.
//
// # Forms
//
// As hands IDs out as texts, from stock: decimal digits, base62 or UUIDs. TakeIDs hands them out
// one by one in the place of runs.
//
//	text, err := ids.As(client.Base62).Next(ctx)
//	uuids, err := ids.As(client.UUID).Take(ctx, 100)
//
// # Waiting
//
// Calls wait when there is no stock: for the daemon's reply, for the next tick at the layout's
// ceiling, for a daemon that is not there. Those who wait are served in turn. Each wait ends with
// the call's context. While the daemon cannot be reached it is dialled again, by one goroutine,
// after 5 ms and then at growing intervals up to half a second, as long as somebody waits, and each
// call gives up after Timeout. A daemon that answers UNAVAILABLE has waited itself, and its answer
// is passed on to those whom it was waiting for.
package client
