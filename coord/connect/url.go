package connect

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/coord/zk"
)

// location is a coordinator's URL, taken apart.
type location struct {
	scheme   string
	hosts    []string // each host:port
	path     string   // with a slash before it, or empty
	user     string
	password string
}

// The schemes of a URL.
const (
	schemeDir  = "dir"
	schemeEtcd = "etcd"
	schemeZk   = "zk"
)

const forms = "use dir:/path for this host alone, or etcd://host:port,host:port/prefix or zk://host:port,host:port/chroot for a cluster"

// ports are those that clients use when none is given (IANA).
var ports = map[string]string{schemeEtcd: "2379", schemeZk: "2181"}

// parse takes a URL apart. net/url takes only one host, and puts the password into its errors.
func parse(raw string) (location, error) {
	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok {
		return location{}, fmt.Errorf("the coordinator's URL has no scheme; %s", forms)
	}
	switch scheme {
	case "embedded":
		return location{}, fmt.Errorf("the coordinator's URL is %s, which this version does not have: leave it out, or %s", raw, forms)
	case schemeDir:
		return parseDir(rest)
	case schemeEtcd, schemeZk:
		return parseServers(scheme, rest)
	default:
		return location{}, fmt.Errorf("the coordinator's URL has the scheme %q, which is not known; %s", scheme, forms)
	}
}

// parseDir takes a path as it is, without escapes.
func parseDir(path string) (location, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return location{}, fmt.Errorf("the coordinator's URL has the directory %q, which does not begin with a slash or has a zero byte; use dir:/path", path)
	}
	return location{scheme: schemeDir, path: filepath.Clean(path)}, nil
}

func parseServers(scheme, rest string) (location, error) {
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return location{}, fmt.Errorf("the coordinator's URL lacks // after %s:; %s", scheme, forms)
	}
	l := location{scheme: scheme}
	// Everything up to the last @ before the path belongs to the user.
	authority, path, hasPath := strings.Cut(rest, "/")
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		var err error
		if l.user, l.password, err = parseUser(authority[:at]); err != nil {
			return location{}, err
		}
		authority = authority[at+1:]
	}
	if strings.ContainsAny(authority+path, "?#") {
		return location{}, fmt.Errorf("the coordinator's URL has options after ? or #, and none are known; %s", forms)
	}
	for _, host := range strings.Split(authority, ",") {
		h, err := parseHost(host, ports[scheme])
		if err != nil {
			return location{}, err
		}
		l.hosts = append(l.hosts, h)
	}
	if hasPath {
		p, err := url.PathUnescape(path)
		if err != nil {
			return location{}, fmt.Errorf("the prefix %q in the coordinator's URL has a bad %% escape; write a per cent sign as %%25", path)
		}
		if p = strings.Trim(p, "/"); p != "" {
			l.path = "/" + p
		}
	}
	if scheme == schemeZk {
		if err := zk.CheckChroot(l.path); err != nil {
			return location{}, fmt.Errorf("the coordinator's URL: %w", err)
		}
	}
	return l, nil
}

// parseUser never puts what it is given into an error.
func parseUser(s string) (user, password string, err error) {
	user, password, ok := strings.Cut(s, ":")
	if !ok || user == "" || password == "" {
		return "", "", fmt.Errorf("the coordinator's URL has a user without a password, or the reverse; use user:password@ before the hosts")
	}
	if user, err = url.PathUnescape(user); err == nil {
		password, err = url.PathUnescape(password)
	}
	if err != nil {
		return "", "", fmt.Errorf("the user or the password in the coordinator's URL has a bad %% escape; write a per cent sign as %%25")
	}
	return user, password, nil
}

func parseHost(s, defaultPort string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		// No port, or not a host at all. Without brackets an IPv6 address leaves
		// open where the port begins.
		bare, bracketed := strings.CutPrefix(s, "[")
		host, port = strings.TrimSuffix(bare, "]"), defaultPort
		if strings.Contains(host, ":") && (!bracketed || net.ParseIP(host) == nil) {
			return "", fmt.Errorf("the host %q in the coordinator's URL is not host:port; put an IPv6 address in brackets", s)
		}
	}
	if host == "" || strings.ContainsAny(host, " \t\r\n[]") {
		return "", fmt.Errorf("a host is missing in the coordinator's URL, or has a character that no host has; %s", forms)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("the port %q of %s in the coordinator's URL is not a number from 1 to 65535", port, host)
	}
	return net.JoinHostPort(host, port), nil
}

// local reports whether the coordinator is this host's alone: it has no servers.
func (l location) local() bool { return l.scheme == schemeDir }

// String is the URL without user and password.
func (l location) String() string {
	if l.local() {
		return l.scheme + ":" + l.path
	}
	user := ""
	if l.user != "" {
		user = "***@"
	}
	return l.scheme + "://" + user + strings.Join(l.hosts, ",") + (&url.URL{Path: l.path}).EscapedPath()
}
