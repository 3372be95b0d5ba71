package resp

import "math"

// Transaction is what a connection has queued since MULTI. EXEC runs it like a pipeline: the
// requests of other connections may come in between, which no reply shows, as there is nothing that
// two requests share.
type Transaction struct {
	Queue     []byte // the requests not run yet, in the protocol's form
	ran       int    // bytes of those that were run, which stay in memory until the last has
	Count     int    // how many were queued
	Broken    bool   // a request was refused: EXEC refuses them all
	Executing bool
}

// more reports whether requests of the transaction are still to be run. It may be called on nil.
func (t *Transaction) more() bool { return t != nil && t.Executing && len(t.Queue) > 0 }

// unlimited reads a transaction's queue, which was held to the limits as it grew.
var unlimited = Limits{Bulk: math.MaxInt, Args: math.MaxInt, Request: math.MaxInt}

// enqueue keeps a request for EXEC.
func (h *Handler) enqueue(s *Session, args [][]byte, out []byte) []byte {
	t := s.transaction
	if t.Broken {
		return appendSimple(out, "QUEUED")
	}
	before := len(t.Queue)
	t.Queue = appendArray(t.Queue, len(args))
	for _, arg := range args {
		t.Queue = appendBulk(t.Queue, arg)
	}
	if len(t.Queue) > h.config.Limits.Transaction {
		t.Queue = t.Queue[:before]
		return h.refuseQueued(s, out, Refuse(QueueFull, h.config.Limits.Transaction))
	}
	t.Count++
	return appendSimple(out, "QUEUED")
}

// refuseQueued refuses a request. Within MULTI it has EXEC refuse the others too.
func (h *Handler) refuseQueued(s *Session, out []byte, r *Refusal) []byte {
	if s.transaction != nil {
		*s.transaction = Transaction{Broken: true}
	}
	return h.refuse(out, r)
}

// execute runs the next request of a transaction, or several plain NEXTs as one, or ends the
// transaction.
func (h *Handler) execute(s *Session, out []byte, room int) []byte {
	t := s.transaction
	if len(t.Queue) == 0 {
		s.transaction = nil
		return out
	}
	if n := beginNexts(h, s, t.Queue, room); n > 0 {
		t.advance(n * len(plainNext))
		return out
	}
	args, n, _ := h.queued.parse(t.Queue)
	t.advance(n)
	c, ok := h.commands.find(args[0])
	if !ok { // a daemon of another version has queued it
		h.counts.command = otherCommand
		return h.refuse(out, unknown(args[0]))
	}
	return do(h, c, s, args[1:], out)
}

func multi(h *Handler, s *Session, _ [][]byte, out []byte) []byte {
	if s.transaction != nil {
		return h.refuse(out, Refuse(NestedMulti))
	}
	s.transaction = &Transaction{}
	return appendSimple(out, "OK")
}

func exec(h *Handler, s *Session, _ [][]byte, out []byte) []byte {
	t := s.transaction
	switch {
	case t == nil:
		return h.refuse(out, Refuse(WithoutMulti, "EXEC"))
	case t.Broken:
		s.transaction = nil
		return h.refuse(out, Refuse(ExecAbort))
	}
	t.Executing = true
	return appendArray(out, t.Count)
}

func discard(h *Handler, s *Session, _ [][]byte, out []byte) []byte {
	if s.transaction == nil {
		return h.refuse(out, Refuse(WithoutMulti, "DISCARD"))
	}
	s.transaction = nil
	return appendSimple(out, "OK")
}

// watch is WATCH key [key ...]: there are no keys, so none of them ever changes.
func watch(h *Handler, s *Session, _ [][]byte, out []byte) []byte {
	if s.transaction != nil {
		return h.refuse(out, Refuse(WatchInMulti))
	}
	return appendSimple(out, "OK")
}

// Held is how many bytes of memory a transaction keeps; nil: none.
func (t *Transaction) Held() int {
	if t == nil {
		return 0
	}
	return t.ran + cap(t.Queue)
}

// advance goes on after n bytes of the queue.
func (t *Transaction) advance(n int) {
	t.Queue = t.Queue[n:]
	t.ran += n
}
