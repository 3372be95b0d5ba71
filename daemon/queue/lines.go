package queue

// lines is connections in turn.
type lines struct {
	first, last *Line
	n           int
}

func (q *lines) append(l *Line) {
	q.n++
	l.previous, l.next = q.last, nil
	if q.last == nil {
		q.first = l
	} else {
		q.last.next = l
	}
	q.last = l
}

func (q *lines) prepend(l *Line) {
	q.n++
	l.previous, l.next = nil, q.first
	if q.first == nil {
		q.last = l
	} else {
		q.first.previous = l
	}
	q.first = l
}

func (q *lines) remove(l *Line) {
	q.n--
	if l.previous == nil {
		q.first = l.next
	} else {
		l.previous.next = l.next
	}
	if l.next == nil {
		q.last = l.previous
	} else {
		l.next.previous = l.previous
	}
}

func (l *Line) remove(r *Request) {
	var before *Request
	for at := l.first; at != r; at = at.next {
		before = at
	}
	if before == nil {
		l.first = r.next
	} else {
		before.next = r.next
	}
	if l.last == r {
		l.last = before
	}
}
