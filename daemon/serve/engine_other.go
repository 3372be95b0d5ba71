//go:build unix && !linux

package serve

func startEngine(c Config, n *counts) (engine, error) { return startGoroutines(c, n) }
