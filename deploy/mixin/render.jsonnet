// All rendered files, for jsonnet -S -m.
local mixin = import 'mixin.libsonnet';
local made = '# Made by make generate from deploy/mixin; do not edit.\n';
{
  'rules.yaml': made + std.manifestYamlDoc(mixin.prometheusRules, quote_keys=false) + '\n',
  'alerts.yaml': made + std.manifestYamlDoc(mixin.prometheusAlerts, quote_keys=false) + '\n',
  'dashboard.json': std.manifestJsonEx(mixin.grafanaDashboards['flakeward.json'], '  '),
}
