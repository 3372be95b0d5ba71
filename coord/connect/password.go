package connect

import (
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// maxPassword bounds what is read as a password, in bytes. Whatever is longer is another file.
const maxPassword = 4 << 10

// ReadPassword reads a file that holds a password alone; line breaks at its end are
// no part of it. A file that others may read is told to log, and used.
func ReadPassword(path string, log hclog.Logger) (string, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxPassword {
		err = fmt.Errorf("it is longer than %d bytes", maxPassword)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return "", &ConfigError{fmt.Errorf("the password's file %s cannot be used: %w", path, err)}
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" || strings.ContainsAny(password, "\r\n\x00") {
		return "", &ConfigError{fmt.Errorf("the password's file %s cannot be used: it must hold the password alone, in one line", path)}
	}
	if log != nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		log.Warn("others may read the file with the coordinator's password: take their rights away (chmod 0600)", "file", path, "mode", fmt.Sprintf("%#o", info.Mode().Perm()))
	}
	return password, nil
}
