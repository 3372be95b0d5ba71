package serve

// Reason is why a connection was refused or ended by this side.
type Reason uint8

// The reasons there are.
const (
	NotAccepted Reason = iota // accept failed: usually there is no file descriptor left
	NotAllowed                // its user may not connect
	Full                      // the limit is reached, and nobody has more connections than its user
	Relieved                  // it was idle, its user has most connections, and another user came
	Recycled                  // it was in the reserve the longest, and the reserve was full
	Heavy                     // the budget was used up, and the most of it by this user and connection
	NotReading                // its client took no replies for too long
	Idle                      // its client asked for nothing for too long
	reasons
)

var codes = [reasons]string{"not-accepted", "not-allowed", "full", "relieved", "recycled", "memory", "not-reading", "idle"}

// String is the code that the log has, and INFO with underscores. It stays.
func (r Reason) String() string { return codes[r] }
