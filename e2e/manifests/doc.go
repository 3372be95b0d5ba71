// Package manifests holds nothing that ships. Its tests render deploy/kubernetes and deploy/helm,
// and hold each object against the types of Kubernetes and of the Prometheus Operator.
package manifests
