{{/* Fails unless the values name one coordinator, and TLS on both sides of it. */}}
{{- define "flakeward.oneCoordinator" -}}
{{- if and (not .Values.settings.coord) (not .Values.etcd.enabled) -}}
{{- fail "\n\nNo coordinator is given. All daemons need the same one. Give one of these:\n  --set settings.coord=etcd://HOST:2379/flakeward   an etcd that you run\n  --set settings.coord=zk://HOST:2181/flakeward     a ZooKeeper that you run\n  --set etcd.enabled=true                           an etcd of three members that this chart runs\n" -}}
{{- end -}}
{{- if and .Values.settings.coord .Values.etcd.enabled -}}
{{- fail "\n\nTwo coordinators are given, settings.coord and etcd.enabled. IDs are unique in one alone: leave one of the two out.\n" -}}
{{- end -}}
{{- if and .Values.etcd.enabled (ne (empty .Values.etcd.tlsSecret) (empty .Values.coordinatorTLS.secret)) -}}
{{- fail "\n\nTLS is given on one side alone: etcd.tlsSecret is the members' certificate, and coordinatorTLS.secret the daemons'. Give both, or neither.\n" -}}
{{- end -}}
{{- end -}}

{{/* The URL of the chart's own etcd. */}}
{{- define "flakeward.etcd" -}}
etcd://flakeward-etcd-0.flakeward-etcd-peers:2379,flakeward-etcd-1.flakeward-etcd-peers:2379,flakeward-etcd-2.flakeward-etcd-peers:2379/flakeward
{{- end -}}

{{/* The settings' file. With the chart's own etcd a variable names the coordinator. */}}
{{- define "flakeward.settings" -}}
{{- toYaml (ternary (omit .Values.settings "coord") .Values.settings .Values.etcd.enabled) -}}
{{- end -}}
