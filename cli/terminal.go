package cli

import "os"

// isTerminal reports whether a person may sit at a stream. A device that is none of
// a terminal's, such as /dev/null, counts too: it gives no answer, which is a no.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	about, err := file.Stat()
	return err == nil && about.Mode()&os.ModeCharDevice != 0
}
