// The whole mixin. README.md says how it is used.
(import 'config.libsonnet') + (import 'rules.libsonnet') + (import 'alerts.libsonnet') + (import 'dashboard.libsonnet')
