// The Prometheus Operator's definitions of its kinds, of the version that is named here: see build.sh.
module operator

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
