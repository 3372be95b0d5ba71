// Package kube runs a Kubernetes of one node in namespaces of its own, applies deploy/kubernetes to
// it, then the chart, and drills: updates by surge, pods that are killed, a node that is drained,
// all under load.
package kube
