package pods

import "github.com/flakeward/flakeward/daemon/peercred"

// users are those who have sockets. A number is given once in a process, so that what is still kept of
// a user who has gone is nobody else's.
type users struct {
	numbers map[string]uint32
	names   map[uint32]string
	sockets map[uint32]int
	last    uint32
}

func newUsers() users {
	return users{numbers: make(map[string]uint32), names: make(map[uint32]string), sockets: make(map[uint32]int)}
}

// come counts a socket of the user's, and returns its number.
func (u *users) come(name string) uint32 {
	n := u.numbers[name]
	if n == 0 {
		u.last++
		n = u.last
		u.numbers[name], u.names[n] = n, name
	}
	u.sockets[n]++
	return n
}

// leave counts one that has gone, and reports whether it was the user's last.
func (u *users) leave(pod *peercred.Pod) (last bool) {
	if u.sockets[pod.Number]--; u.sockets[pod.Number] > 0 {
		return false
	}
	delete(u.sockets, pod.Number)
	delete(u.names, pod.Number)
	delete(u.numbers, pod.User)
	return true
}
