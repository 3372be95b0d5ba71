package zkserver

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// logback is what the official distribution logs with: all to the standard output, as
// Debian's does here.
const logback = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} [%thread] %level %logger - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
`

// configure writes the member's files.
func (e *Ensemble) configure(member int) error {
	m, o := e.members[member], e.options
	settings := map[string]string{
		"dataDir":            m.data(),
		"clientPortAddress":  host,
		"clientPort":         strconv.Itoa(m.client.Number),
		"tickTime":           milliseconds(o.Tick),
		"minSessionTimeout":  milliseconds(2 * o.Tick),
		"maxSessionTimeout":  milliseconds(o.MaxSession),
		"maxClientCnxns":     "0", // no bound: all clients of a test are on one host
		"admin.enableServer": "false",
		// Any word may be asked for; and a log of 4 MiB takes no time to copy.
		"4lw.commands.whitelist": "*",
		"preAllocSize":           "4096",
	}
	if o.TLS != nil {
		if err := m.secureSettings(*o.TLS, settings); err != nil {
			return err
		}
	}
	if len(e.members) > 1 {
		// In ticks: what a member may take to join, and to fall behind by.
		settings["initLimit"], settings["syncLimit"] = "20", "10"
		for i, other := range e.members {
			settings[fmt.Sprintf("server.%d", i+1)] = fmt.Sprintf("%s:%d:%d", host, other.quorum.Number, other.election.Number)
			if i >= len(e.members)-o.Observers {
				settings[fmt.Sprintf("server.%d", i+1)] += ":observer"
			}
		}
		if member >= len(e.members)-o.Observers {
			settings["peerType"] = "observer"
		}
		if err := os.WriteFile(filepath.Join(m.data(), "myid"), []byte(strconv.Itoa(member+1)), 0o600); err != nil {
			return err
		}
	}
	maps.Copy(settings, o.Config)
	var file strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&file, "%s=%s\n", name, settings[name])
	}
	if err := os.WriteFile(m.config(), []byte(file.String()), 0o600); err != nil {
		return err
	}
	return os.WriteFile(m.logging(), []byte(logback), 0o600)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// secureSettings has the member speak TLS on its second port. Java wants key and
// certificates in one file, and the key in PKCS #8.
func (m *member) secureSettings(files TLS, settings map[string]string) error {
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return fmt.Errorf("ZooKeeper's certificate and key: %w", err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return fmt.Errorf("ZooKeeper's key: %w", err)
	}
	store := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	for _, der := range pair.Certificate {
		store = append(store, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	path := filepath.Join(m.dir, "keystore.pem")
	if err := os.WriteFile(path, store, 0o600); err != nil {
		return err
	}
	maps.Copy(settings, map[string]string{
		"serverCnxnFactory":       "org.apache.zookeeper.server.NettyServerCnxnFactory", // the only one with TLS
		"secureClientPortAddress": host,
		"secureClientPort":        strconv.Itoa(m.secure.Number),
		"ssl.keyStore.location":   path,
		"ssl.keyStore.type":       "PEM",
		"ssl.clientAuth":          "none",
	})
	if files.ClientCA != "" {
		maps.Copy(settings, map[string]string{
			"ssl.trustStore.location":  files.ClientCA,
			"ssl.trustStore.type":      "PEM",
			"ssl.clientAuth":           "need",
			"ssl.hostnameVerification": "false", // a client has no fixed name
		})
	}
	return nil
}
