package serve

// list is the connections that wait, in the order they began to.
type list struct{ first, last *conn }

func (q *list) append(c *conn) {
	c.previous, c.next = q.last, nil
	if q.last == nil {
		q.first = c
	} else {
		q.last.next = c
	}
	q.last = c
}

func (q *list) remove(c *conn) {
	if c.previous == nil {
		q.first = c.next
	} else {
		c.previous.next = c.next
	}
	if c.next == nil {
		q.last = c.previous
	} else {
		c.next.previous = c.previous
	}
	c.previous, c.next = nil, nil
}
