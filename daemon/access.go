package daemon

import (
	"fmt"
	"math"
	"os"
	"os/user"
	"slices"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
)

// operator reports whether a user looks after the daemon: root, and the daemon's own.
func operator(u budget.User) bool { return u == 0 || u == budget.User(os.Geteuid()) }

// connections is how many there may be at once, as far as file descriptors go.
func (s Socket) connections() int {
	return budget.MostConnections(s.MaxConnections)
}

// warn says if there may be fewer connections than were asked for.
func (s Socket) warn(log hclog.Logger) {
	if most := s.connections(); most < s.MaxConnections {
		log.Warn("the limit of file descriptors leaves room for fewer connections; raise it, or lower --max-connections",
			"code", "few-descriptors", "connections", most, "max_connections", s.MaxConnections)
	}
}

// allow reports whether a client may connect; nil if everybody may. The kernel tells a client's
// user and main group as of when it connected, and no other group. Who comes by TCP gives a
// password.
func (s Socket) allow() func(peercred.Credentials) bool {
	uids, gids := s.AllowUIDs, s.AllowGIDs
	if len(uids) == 0 && len(gids) == 0 {
		return nil
	}
	return func(c peercred.Credentials) bool {
		return c.Address.IsValid() || c.Known && (operator(budget.User(c.UID)) || slices.Contains(uids, c.UID) || slices.Contains(gids, c.GID))
	}
}

// groupID is the number of a group that is given by its name or number; -1, which leaves the group
// as it is, for none.
func groupID(group string) (int, error) {
	if group == "" {
		return -1, nil
	}
	// Systems keep 32 bits, of which the highest number stands for no change.
	if id, err := strconv.ParseUint(group, 10, 32); err == nil && id != math.MaxUint32 {
		return int(id), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return 0, fmt.Errorf("--socket-group: there is no group %q; give one that exists, by name or number", group)
	}
	return strconv.Atoi(g.Gid)
}
