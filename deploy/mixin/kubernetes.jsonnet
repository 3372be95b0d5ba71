// The rules and alerts as an object of the Prometheus Operator, for jsonnet -S -m deploy.
local mixin = import 'mixin.libsonnet';
local rule = '# Made by make generate from deploy/mixin; do not edit.\n' + std.manifestYamlDoc({
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PrometheusRule',
  metadata: {
    name: 'flakeward',
    labels: { 'app.kubernetes.io/name': 'flakeward', 'app.kubernetes.io/component': 'daemon' },
  },
  spec: { groups: mixin.prometheusRules.groups + mixin.prometheusAlerts.groups },
}, quote_keys=false) + '\n';
{
  'kubernetes/components/monitoring/prometheus-rule.yaml': rule,
  'helm/flakeward/files/prometheus-rule.yaml': rule,
}
