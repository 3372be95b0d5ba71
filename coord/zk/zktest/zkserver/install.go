package zkserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// HomeVariable names the directory of an unpacked distribution of ZooKeeper (3.5 or
// later), which wins over Debian's package.
const HomeVariable = "ZOOKEEPER_HOME"

// debianJars is where Debian's packages have their jars. That of zookeeper.jar names
// most others itself; those here it does not: a logger, and what TLS is made of.
const debianJars = "/usr/share/java"

var moreJars = []string{"slf4j-simple.jar", "netty-codec.jar", "netty-resolver.jar", "netty-transport-native-unix-common.jar"}

// install is what it takes to run a server.
type install struct {
	java      string // the program
	classPath string
}

var errNoZooKeeper = errors.New("there is no ZooKeeper on this machine: `apt-get install --no-install-recommends libzookeeper-java` (Debian, Ubuntu; `scripts/need zookeeper` does that), or unpack a distribution of Apache ZooKeeper 3.8 or later and set " + HomeVariable + " to its directory")

// Installed says what is missing here to run a server.
func Installed() error {
	_, err := find()
	return err
}

// find finds Java and ZooKeeper.
func find() (install, error) {
	java, err := exec.LookPath(filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java"))
	if err != nil {
		java, err = exec.LookPath("java")
	}
	if err != nil {
		return install{}, fmt.Errorf("ZooKeeper needs Java 11 or later: `apt-get install --no-install-recommends default-jre-headless` (Debian, Ubuntu; `scripts/need zookeeper` does that), or set JAVA_HOME: %w", err)
	}
	if home := os.Getenv(HomeVariable); home != "" {
		jars, err := filepath.Glob(filepath.Join(home, "lib", "zookeeper-[0-9]*.jar"))
		if err != nil || len(jars) == 0 {
			return install{}, fmt.Errorf("%s is %q, and there is no lib/zookeeper-VERSION.jar: set it to the directory of an unpacked distribution, or unset it to use Debian's package", HomeVariable, home)
		}
		return install{java: java, classPath: filepath.Join(home, "lib", "*")}, nil
	}
	jar := filepath.Join(debianJars, "zookeeper.jar")
	if _, err := os.Stat(jar); err != nil {
		return install{}, errNoZooKeeper
	}
	path := []string{jar}
	for _, j := range moreJars {
		path = append(path, filepath.Join(debianJars, j))
	}
	return install{java: java, classPath: strings.Join(path, string(filepath.ListSeparator))}, nil
}
