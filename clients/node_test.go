package clients

import "testing"

func node(t *testing.T) driver {
	t.Helper()
	file(t, "node", "flakeward.js")
	return driver{"node", []string{need(t, "node"), file(t, "testdata", "driver.js")}}
}

func TestNode(t *testing.T) {
	tests(t, append(node(t).command[:1:1], file(t, "testdata", "node_test.js")))
}

func TestNodeThroughKillsAndUpdates(t *testing.T) { throughKillsAndUpdates(t, node(t)) }

func TestNodeFigures(t *testing.T) { measure(t, node(t)) }
