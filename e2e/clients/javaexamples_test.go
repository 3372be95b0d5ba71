package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

var (
	javaBlock = regexp.MustCompile("(?s)\n```java\n(.*?)\n```\n")
	javaType  = regexp.MustCompile(`(?m)^public (?:class|@interface) (\w+)`)
)

// javaExamples writes the programs in Java of the page to files, and returns these by the names of
// their types.
func javaExamples(t *testing.T) map[string]string {
	t.Helper()
	page := string(must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "clients.md")))(t))
	dir, files := t.TempDir(), map[string]string{}
	for _, block := range javaBlock.FindAllStringSubmatch(page, -1) {
		name := javaType.FindStringSubmatch(block[1])[1]
		files[name] = writeJava(t, dir, name, block[1])
	}
	return files
}

// writeJava writes the source of a type.
func writeJava(t *testing.T, dir, name, text string) (file string) {
	t.Helper()
	file = filepath.Join(dir, name+".java")
	must.Do(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	return file
}

// javaStubs are the interfaces of Hibernate 6 and 7, and of Jakarta Persistence, as far as the
// examples use them.
var javaStubs = map[string]string{
	"Generator":                        "package org.hibernate.generator; public interface Generator {}",
	"IdGeneratorType":                  "package org.hibernate.annotations; public @interface IdGeneratorType { Class<? extends org.hibernate.generator.Generator> value(); }",
	"SharedSessionContractImplementor": "package org.hibernate.engine.spi; public interface SharedSessionContractImplementor {}",
	"IdentifierGenerator": "package org.hibernate.id; public interface IdentifierGenerator extends org.hibernate.generator.Generator { " +
		"Object generate(org.hibernate.engine.spi.SharedSessionContractImplementor session, Object object); }",
	"Entity": "package jakarta.persistence; public @interface Entity {}",
	"Id":     "package jakarta.persistence; public @interface Id {}",
}

// The examples of docs/clients.md compile. Debian has no Hibernate 6, so there are stubs of it.
func TestJavaExamples(t *testing.T) {
	examples, dir := javaExamples(t), t.TempDir()
	var sources []string
	for _, name := range []string{"Example", "FlakewardId", "FlakewardGenerator", "Order"} {
		sources = append(sources, examples[name])
	}
	for name, text := range javaStubs {
		sources = append(sources, writeJava(t, dir, name, text))
	}
	compileJava(t, "", sources...)
}

// The example of Spring compiles and runs: a context has one client, and closes it. Debian's Spring
// cannot subclass a @Configuration on Java 17, so what runs is its copy without the annotation.
func TestJavaSpring(t *testing.T) {
	var jars []string
	for _, name := range []string{"spring3-core", "spring3-beans", "spring3-context", "spring3-aop", "spring3-expression", "commons-logging"} {
		jar := filepath.Join("/usr/share/java", name+".jar")
		if _, err := os.Stat(jar); err != nil {
			need.That(t, fmt.Errorf("%w: run `scripts/need clients`", err))
		}
		jars = append(jars, jar)
	}
	classPath := strings.Join(jars, ":")
	example := javaExamples(t)["IdsConfiguration"]
	text := strings.NewReplacer("@Configuration\n", "", "class IdsConfiguration", "class Beans").Replace(string(must.Get(os.ReadFile(example))(t)))
	classes := compileJava(t, classPath, example, writeJava(t, t.TempDir(), "Beans", text), file(t, "testdata", "Spring.java"))
	f := startFake(t)
	c := exec.CommandContext(t.Context(), interpreter(t, "java"), "--add-opens", "java.base/java.lang=ALL-UNNAMED", // which this old Spring wants
		"-Dflakeward.socket="+f.socket, "-cp", classes+":"+classPath, "Spring")
	if said, err := c.Output(); err != nil || string(said) != "true\n1\nCLOSED\n" {
		t.Errorf("%v\n%s", err, said)
	}
}
