package cli

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/csi"
)

// csiCommands are the commands that only Linux has.
func csiCommands(own paths) []*urfave.Command {
	s := defaultSettings(own)
	config := csi.Config{}
	return []*urfave.Command{{
		Name:  "csi",
		Usage: "serve a socket to each pod of this Kubernetes node: the CSI node driver " + csi.Name,
		Description: "Runs in the foreground, as root, once per node, in a container with kubelet's directory mounted\n" +
			"Bidirectional. A pod asks for its socket by an inline volume of the driver " + csi.Name + ".\n" +
			"The daemon makes the sockets: it is given the same --pod-sockets. SIGTERM or SIGINT ends the\n" +
			"driver; pods keep their sockets. docs/kubernetes.md has the manifests.",
		Flags: append([]urfave.Flag{
			&urfave.PathFlag{Name: "registration", Destination: &config.Registration, Category: "Kubelet",
				Usage: "the `SOCKET` to make in kubelet's plugins_registry; kubelet finds the driver there and calls it there"},
			&urfave.StringFlag{Name: "endpoint", Destination: &config.Endpoint, Category: "Kubelet",
				Usage: "one more `SOCKET` for the same requests, a path or unix://path, for tools besides kubelet"},
			&urfave.StringFlag{Name: "node", Destination: &config.Node, Category: "Kubelet",
				Usage: "the `NAME` of this node (spec.nodeName)"},
			&urfave.PathFlag{Name: "pod-sockets", Destination: &config.PodSockets, Category: "Sockets",
				Usage: "the `DIR` of the pods' sockets, as the daemon's --pod-sockets"},
		}, s.logFlags()...),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if err := config.Validate(); err != nil {
				return &usageError{err}
			}
			log, err := s.openLog(c.App.ErrWriter)
			if err != nil {
				return err
			}
			config.Version, config.Log = Version(), log.logger
			return log.close(csi.Run(c.Context, config))
		},
	}}
}
