package serve

func startEngine(c Config, n *counts) (engine, error) { return startLoop(c, n) }
