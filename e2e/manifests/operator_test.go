package manifests

// What is used of the Prometheus Operator's types: its module asks for a newer Kubernetes than the
// other modules here, so the few fields are named again. A field that is not among them is refused.
type (
	podMonitor struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			Selector            map[string]any `json:"selector"`
			PodMetricsEndpoints []struct {
				Port          string `json:"port"`
				Path          string `json:"path"`
				Scheme        string `json:"scheme"`
				Authorization struct {
					Credentials secretKey `json:"credentials"`
				} `json:"authorization"`
				TLSConfig struct {
					ServerName string `json:"serverName"`
					CA         struct {
						Secret secretKey `json:"secret"`
					} `json:"ca"`
				} `json:"tlsConfig"`
				Relabelings []struct {
					SourceLabels []string `json:"sourceLabels"`
					TargetLabel  string   `json:"targetLabel"`
					Replacement  string   `json:"replacement"`
				} `json:"relabelings"`
			} `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}

	secretKey struct {
		Name string `json:"name"`
		Key  string `json:"key"`
	}

	prometheusRule struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       ruleGroups     `json:"spec"`
	}

	ruleGroups struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Record      string            `json:"record,omitempty"`
				Alert       string            `json:"alert,omitempty"`
				Expr        string            `json:"expr"`
				For         string            `json:"for,omitempty"`
				Labels      map[string]string `json:"labels,omitempty"`
				Annotations map[string]string `json:"annotations,omitempty"`
			} `json:"rules"`
		} `json:"groups"`
	}
)
